// Package imports holds the shape of the tree: which package may import which, what stands at the top level,
// and what every package has. It must not be imported; all of it is tests.
//
// # Directions
//
// Imports point down: from programs through the disk class driver and the port driver to SRP, and from there to
// the verbs and the SCSI codecs. The table in rules_test.go is the design's, package by package. A package that
// the table does not know fails the test, so that whoever adds one decides where it stands. Test files may import
// upwards: an SRP target is the peer that an initiator is tested against.
//
// # Testing
//
// Everything is read in this process, with go/parser, and so go test's cache notices when a file changes. Each rule
// is tried on a violation too, to know that it can fail.
package imports
