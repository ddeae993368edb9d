package path

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	osexec "os/exec"
	"path/filepath"
	"testing"

	"github.com/gopacket/gopacket/pcapgo"

	"minisrp/miniport"
	"minisrp/scsi/disk"
	"minisrp/srp"
	"minisrp/test/need"
	"minisrp/test/rig"
	"minisrp/verbs/soft"
	"minisrp/verbs/soft/tap"
)

// Every command crosses as encoded IUs through two queue pairs: a capture shows the
// login, commands with and without immediate data, the target's RDMA, responses, and
// the logout.
func TestCaptureShowsThePath(t *testing.T) {
	file := filepath.Join(t.TempDir(), "path.pcapng")
	capture, err := tap.Create(file, tap.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := rig.New(t.Context(), rig.Config{Fabric: soft.Config{Tap: capture}})
	if err != nil {
		t.Fatal(err)
	}
	region, free, err := r.Memory(t.Context(), 64<<10)
	if err != nil {
		t.Fatal(err)
	}
	for i := range region.Bytes() {
		region.Bytes()[i] = byte(i >> 8)
	}
	do := func(op disk.Op, n uint64) {
		t.Helper()
		q := &disk.Request{Op: op, Length: n, Data: []miniport.Segment{{Region: region, Length: uint32(n)}}}
		if err := r.Do(r.Disks[0], q); err != nil {
			t.Error(err)
		}
	}
	before := capture.Messages()
	do(disk.Write, 4096)  // immediate data
	do(disk.Write, 65536) // the target reads it
	do(disk.Read, 65536)  // the target writes it
	if n := capture.Messages() - before; n != 3*2+2 {
		t.Errorf("%d messages of three commands; want a command and a response each, and the RDMA of two", n)
	}
	free()
	closeRig(t, r)
	if err := capture.Close(); err != nil {
		t.Error(err)
	}
	if n := capture.Dropped(); n != 0 {
		t.Errorf("%d messages dropped", n)
	}
	seen := whatCrossed(t, file)
	for _, what := range []string{
		"REQ with LOGIN_REQ", "REP with LOGIN_RSP", "RTU", "SEND of CMD", "SEND of RSP", "READ", "READ response", "WRITE", "DREQ", "DREP",
	} {
		if seen[what] == 0 {
			t.Errorf("no %s in %v", what, seen)
		}
	}
	if seen["SEND of CMD"] != seen["SEND of RSP"] || seen["SEND of something else"] != 0 {
		t.Errorf("%v", seen)
	}
	tsharkAgrees(t, file)
}

// whatCrossed counts what the packets of a capture carry.
func whatCrossed(t *testing.T, file string) map[string]int {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := pcapgo.NewNgReader(f, pcapgo.DefaultNgReaderOptions)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for {
		p, _, err := r.ReadPacketData()
		if errors.Is(err, io.EOF) {
			return seen
		}
		if err != nil {
			t.Fatal(err)
		}
		bth := p[14+20+8:]
		switch body := bth[12:]; bth[0] {
		case 0x64:
			cm := body[8+24:]
			switch binary.BigEndian.Uint16(body[8+16:]) {
			case 0x10: // the RDMA CM's form of the login, whose opcode stands at 11
				if private := cm[140+36:]; private[11] == byte(srp.OpLoginReq) && bytes.Equal(private[32:48], rig.TargetID[:]) {
					seen["REQ with LOGIN_REQ"]++
				}
			case 0x13:
				if cm[36] == byte(srp.OpLoginRsp) {
					seen["REP with LOGIN_RSP"]++
				}
			case 0x14:
				seen["RTU"]++
			case 0x15:
				seen["DREQ"]++
			case 0x16:
				seen["DREP"]++
			}
		case 0x00, 0x04, 0x17: // SEND first, only, only with invalidate
			if bth[0] == 0x17 {
				body = body[4:]
			}
			switch srp.Opcode(body[0]) {
			case srp.OpCommand:
				seen["SEND of CMD"]++
			case srp.OpResponse:
				seen["SEND of RSP"]++
			case srp.OpILogout, srp.OpTLogout:
				seen["SEND of a logout"]++
			default:
				seen["SEND of something else"]++
			}
		case 0x0c:
			seen["READ"]++
		case 0x0d, 0x10:
			seen["READ response"]++
		case 0x06, 0x0a:
			seen["WRITE"]++
		}
	}
}

// tsharkAgrees demands that tshark dissects every packet to its end.
func tsharkAgrees(t *testing.T, file string) {
	t.Helper()
	path := need.Tool(t, "tshark")
	out, err := osexec.Command(path, "-r", file, "--disable-protocol", "rpcordma", "-Y", "_ws.malformed || _ws.expert || _ws.short || !infiniband").Output()
	if err != nil || len(out) != 0 {
		t.Errorf("tshark: %v\n%s", err, out)
	}
}
