// Package path tests the whole stack in one process, from the disk class driver through
// two QPs to the target's stores and back: what no package can show alone.
package path
