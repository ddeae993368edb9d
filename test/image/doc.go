// Package image carries a file system through the daemon: an ext4 image goes in over NBD, comes out again, and must be
// the same, byte by byte and to e2fsck. It has tests only.
//
//	go test ./test/image                      64 MiB, with a part of this repository
//	go test ./test/image -full -v             1 GiB, with the Go distribution
//
// # Levels
//
// Passive.
//
// # Testing
//
// The programs are mkfs.ext4 and e2fsck of e2fsprogs and nbdcopy and nbdinfo of libnbd; a test that lacks one skips,
// and fails in CI.
package image
