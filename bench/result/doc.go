// Package result is what a run of the benchmark has found: samples, figures, and the facts that they depend on, as a
// file that later runs are compared with. It measures nothing.
//
// A Result has Groups: what was measured under one load, by contestants that took turns. A Figure is computed from
// them, mostly as a ratio of two contestants in the same round, and judged by its median.
//
// # Levels
//
// It computes; Read and Write are Passive.
//
// # Errors
//
// VersionError: a file of another format. SyntaxError-like errors of a file that is none name the file.
//
// # Testing
//
// Medians and spreads against numbers computed by hand; a file in testdata is read and written without a difference;
// two results are compared.
//
// # Clauses
//
// Samples use fio's names where it has them (iops, bw_bytes, total_ios, clat_ns with its percentiles), so that what
// reads fio's output finds them.
package result
