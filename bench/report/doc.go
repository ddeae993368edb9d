// Package report shows results: as tables on a terminal, and as a page of HTML with plots that needs nothing else. It
// must not compute what is not in the result.
//
// # Levels
//
// It computes and writes.
//
// # Testing
//
// Tables against files. Plots are looked at.
package report
