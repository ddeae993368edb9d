package lun

import (
	"bytes"
	"context"

	"minisrp/scsi"
)

// verify prepares VERIFY and WRITE AND VERIFY (SBC-4 5.36, 5.45).
func (s *Server) verify(t *Task) Verdict {
	c, err := scsi.ParseVerify(t.CDB[:])
	if err != nil {
		return t.fail(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB)
	}
	if c.Check == 2 || c.Write && c.Check == scsi.CheckSame {
		return t.badField(1, 2) // BYTCHK
	}
	fc := t.unit.facts.Load()
	if v := t.span(fc, c.LBA, c.Blocks); v == Finished {
		return v
	}
	switch {
	case c.Write:
		t.kind = kindWriteVerify
		return t.take(uint32(t.length))
	case c.Check == scsi.CheckBytes:
		t.kind = kindVerifyData
		return t.take(uint32(t.length))
	case c.Check == scsi.CheckSame:
		t.kind = kindVerifySame
		return t.take(fc.info.BlockSize)
	}
	t.kind = kindVerify
	return Proceed
}

// workVerify reads the blocks, and compares them where it is asked to.
func (u *Unit) workVerify(ctx context.Context, t *Task) scsi.Sense {
	data := t.Data
	switch t.kind {
	case kindVerify:
		data = nil
	case kindVerifySame:
		block := t.Data[0]
		data = make([][]byte, t.length/uint64(len(block)))
		for i := range data {
			data[i] = block
		}
	}
	at, err := u.compare(ctx, data, t.off, t.length)
	if err != nil {
		return u.senseOf(err, scsi.ASCUnrecoveredRead)
	}
	if at >= 0 && t.kind == kindVerifySame {
		at %= int64(len(t.Data[0]))
	}
	return miscompare(at)
}

// workWriteVerify writes to the medium, as the standard has it, and reads back.
func (u *Unit) workWriteVerify(ctx context.Context, t *Task) scsi.Sense {
	if err := u.store.Write(ctx, t.Data, t.off, u.facts.Load().info.Volatile); err != nil {
		return u.senseOf(err, scsi.ASCWriteError)
	}
	at, err := u.compare(ctx, t.Data, t.off, t.length)
	if err != nil {
		return u.senseOf(err, scsi.ASCUnrecoveredRead)
	}
	return miscompare(at)
}

// compare reads n bytes of the store from off on, and compares them with data, of as many bytes, or nil. It returns the
// offset of the first byte that differs, or -1.
func (u *Unit) compare(ctx context.Context, data [][]byte, off, n uint64) (int64, error) {
	buffer := make([]byte, min(n, fillBytes))
	want := cursor{data: data}
	for done := uint64(0); done < n; {
		b := buffer[:min(n-done, fillBytes)]
		if err := u.store.Read(ctx, [][]byte{b}, off+done); err != nil {
			return 0, err
		}
		for i := 0; data != nil && i < len(b); {
			w := want.next(len(b) - i)
			if !bytes.Equal(w, b[i:i+len(w)]) {
				k := 0
				for w[k] == b[i+k] {
					k++
				}
				return int64(done) + int64(i+k), nil
			}
			i += len(w)
		}
		done += uint64(len(b))
	}
	return -1, nil
}

// cursor goes through bytes that are in pieces.
type cursor struct {
	data [][]byte
	at   int // in the first piece
}

// next returns the bytes that come next, at least one and at most n, which are there.
func (c *cursor) next(n int) []byte {
	for c.at == len(c.data[0]) {
		c.data, c.at = c.data[1:], 0
	}
	b := c.data[0][c.at:]
	b = b[:min(len(b), n)]
	c.at += len(b)
	return b
}

// miscompare is what ends a comparison that found the first difference in byte at of the initiator's data; none if it
// is negative.
func miscompare(at int64) scsi.Sense {
	if at < 0 {
		return scsi.Sense{}
	}
	s := scsi.MakeSense(scsi.KeyMiscompare, scsi.ASCMiscompare)
	s.InformationValid, s.Information = true, uint64(at)
	return s
}
