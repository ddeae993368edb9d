package lun_test

import (
	"fmt"
	"os"

	"minisrp/scsi"
	"minisrp/scsi/lun"
)

// writeAndFlush is what the traced copy of this test does: writes and flushes of each kind, announced by writes to
// standard error that the trace shows between the file's calls.
func writeAndFlush(path string) {
	s := newServer()
	u := must(lun.NewUnit(s.Processor(), lun.Config{Store: must(lun.OpenFile(path, lun.FileOptions{Size: testSize})), Serial: "s"}))
	if err := s.Attach(0, u); err != nil {
		panic(err)
	}
	x := newInitiator(nil, s)
	step := func(name string, c []byte, out []byte) {
		cmd := x.do(0, c, out, 0)
		fmt.Fprintf(os.Stderr, "%s status %v\n", name, cmd.Status)
	}
	step("attention", make([]byte, 6), nil)
	step("write", cdb(&scsi.RW{Write: true, LBA: 8, Blocks: 8}), pattern(1, 8*testBlock))
	step("flush", cdb(&scsi.SyncCache{}), nil)
	step("fua", cdb(&scsi.RW{Write: true, LBA: 16, Blocks: 8, FUA: true}), pattern(2, 8*testBlock))
}
