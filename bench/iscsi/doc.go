// Package iscsi has iscsi-perf load a logical unit, and reads what it says: of the clients for iSCSI in user space it is
// the one that distributions have. It can only read, and tells no latencies.
//
// # Levels
//
// Passive.
//
// # Errors
//
// iscsi-perf's own, with what it printed.
//
// # Testing
//
// What iscsi-perf 0.1 of libiscsi 1.19 printed is in testdata.
package iscsi
