package nbd

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"
)

// fakeCatalog is a server without connections.
type fakeCatalog struct{ all []*export }

func (f fakeCatalog) lookup(name string) *export {
	for _, e := range f.all {
		if e.name == name {
			return e
		}
	}
	return nil
}
func (f fakeCatalog) exports() []*export { return f.all }
func (f fakeCatalog) closing() bool      { return false }

type fixedInfo struct{ Backend }

func (fixedInfo) Info() Info { return Info{Size: 1 << 20, LogicalBlock: 512, CanFUA: true} }

// script is what a client sends, and what it was sent.
type script struct {
	io.Reader
	out bytes.Buffer
}

func (s *script) Write(b []byte) (int, error) { return s.out.Write(b) }

// FuzzNegotiation: any bytes end in a chosen export or an error, and what is sent
// is well-formed.
func FuzzNegotiation(f *testing.F) {
	opt := func(kind uint32, data string) string {
		b := binary.BigEndian.AppendUint32([]byte("IHAVEOPT"), kind)
		return string(binary.BigEndian.AppendUint32(b, uint32(len(data)))) + data
	}
	const flags = "\x00\x00\x00\x03"
	f.Add([]byte(flags + opt(optExportName, "x")))
	f.Add([]byte(flags + opt(optStructuredReply, "") + opt(optSetMetaContext, "\x00\x00\x00\x01x\x00\x00\x00\x01\x00\x00\x00\x0fbase:allocation") + opt(optGo, "\x00\x00\x00\x01x\x00\x01\x00\x03")))
	f.Add([]byte(flags + opt(optList, "") + opt(optInfo, "\x00\x00\x00\x01x\x00\x00") + opt(optStartTLS, "") + opt(optAbort, "")))
	f.Add([]byte(flags + opt(optListMetaContext, "\x00\x00\x00\x01x\x00\x00\x00\x00") + opt(99, "zzz")))
	f.Fuzz(func(t *testing.T, in []byte) {
		x := &export{name: "x", description: "d", backend: fixedInfo{}}
		attached := 0
		rw := &script{Reader: bytes.NewReader(in)}
		n := &negotiation{rw: rw, catalog: fakeCatalog{[]*export{x}}, attach: func(*export) error { attached++; return nil }}
		e, err := n.run()
		if (e == nil) == (err == nil) {
			t.Fatalf("export %v, error %v", e, err)
		}
		if e != nil && attached != 1 || e == nil && attached != 0 {
			t.Fatalf("export %v was attached %d times", e, attached)
		}
		var broken *ProtocolError
		if err != nil && !errors.As(err, &broken) && !errors.Is(err, errAborted) && !gone(err) {
			t.Fatalf("error %v has no place in the log", err)
		}
		out := rw.out.Bytes()[18:]
		for len(out) >= optReplySize && binary.BigEndian.Uint64(out) == magicOptReply {
			k := optReplySize + int(binary.BigEndian.Uint32(out[16:]))
			if k > len(out) {
				t.Fatalf("reply of %d bytes, %d were sent", k, len(out))
			}
			out = out[k:]
		}
		if len(out) != 0 && (e == nil || len(out) != 10 && len(out) != 134) {
			t.Fatalf("%d bytes sent that are no reply: %x", len(out), out)
		}
	})
}

// FuzzVet: a request that is let through lies within the export, on its blocks, and
// asks for nothing that was not offered.
func FuzzVet(f *testing.F) {
	f.Add(bytes.Repeat([]byte{0}, extRequestSize), uint64(1<<20), uint8(0xff), uint8(1))
	f.Add(bytes.Repeat([]byte{0}, extRequestSize), uint64(1<<20), uint8(0xff), uint8(2))
	f.Fuzz(func(t *testing.T, b []byte, size uint64, caps, y uint8) {
		if len(b) < extRequestSize {
			return
		}
		c := terms{style: style(y % 3), context: caps&32 != 0 && y%3 != 0, info: Info{
			Size: size &^ 511, LogicalBlock: 512, ReadOnly: caps&1 != 0,
			CanFUA: caps&2 != 0, CanUnmap: caps&4 != 0, CanWriteZeroes: caps&8 != 0, CanCache: caps&16 != 0,
		}}
		i := c.info
		r, _ := decodeRequest(b, c.style)
		if c.vet(&r) != resOK {
			return
		}
		end := r.offset + r.length
		changes := r.cmd == cmdWrite || r.cmd == cmdTrim || r.cmd == cmdWriteZeroes
		switch {
		case int(r.cmd) >= len(opOf) || r.cmd == cmdDisc:
			t.Fatalf("command %d", r.cmd)
		case end > i.Size || end < r.offset || (r.offset|r.length)%512 != 0:
			t.Fatalf("%+v in %+v", r, i)
		case r.cmd != cmdFlush && r.length == 0, r.cmd == cmdFlush && r.length|r.offset != 0:
			t.Fatalf("%+v", r)
		case (r.cmd == cmdRead || r.cmd == cmdWrite) && r.length > MaxRequest && r.payload <= MaxRequest:
			t.Fatalf("%+v", r)
		case i.ReadOnly && changes:
			t.Fatalf("%+v of a read-only disk", r)
		case r.flags&cfFUA != 0 && !i.CanFUA, r.cmd == cmdTrim && !i.CanUnmap, r.cmd == cmdWriteZeroes && !i.CanWriteZeroes,
			r.cmd == cmdCache && !i.CanCache, r.cmd == cmdBlockStatus && !c.context:
			t.Fatalf("%+v was not offered by %+v", r, i)
		case (r.payload != 0) != (r.cmd == cmdWrite), r.cmd == cmdWrite && r.payload != r.length:
			t.Fatalf("%+v with a payload of %d", r, r.payload)
		}
	})
}
