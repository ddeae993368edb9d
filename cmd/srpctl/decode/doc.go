// Package decode puts what logical units answer into words: names and values, in the names that sg3_utils has for them,
// which its users know. It must not know where the bytes come from.
//
// # Levels
//
// It computes.
//
// # Errors
//
// Data that is too short, or of something else, is ErrShort or ErrFormat of package scsi. What a page has behind its end
// is not shown.
//
// # Testing
//
// What it says is compared with sg_inq, sg_vpd, sg_readcap and sg_luns, on random bytes and on those that a Linux target
// has sent; fuzz tests feed it anything.
//
// # Clauses
//
// SPC-5 6.7 (INQUIRY), 6.16 (PERSISTENT RESERVE IN), 6.33 (REPORT LUNS), 7.7 (vital product data); SBC-4 5.19, 5.20
// (READ CAPACITY), 6.6 (vital product data).
package decode
