package lun

import (
	"context"

	"minisrp/scsi"
)

// compareAndWrite prepares COMPARE AND WRITE (SBC-4 5.3). No other task touches the blocks between the comparison and
// the write.
func (s *Server) compareAndWrite(t *Task) Verdict {
	c, err := scsi.ParseCompareAndWrite(t.CDB[:])
	if err != nil {
		return t.fail(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB)
	}
	fc := t.unit.facts.Load()
	if c.Blocks > maxCompareBlocks {
		return t.badLength()
	}
	if v := t.span(fc, c.LBA, uint32(c.Blocks)); v == Finished {
		return v
	}
	t.kind, t.exclusive, t.fua = kindCompareWrite, true, t.through(fc, c.FUA, true)
	return t.take(2 * uint32(t.length))
}

// workCompareWrite writes the second half of the data where the blocks are like the first.
func (u *Unit) workCompareWrite(ctx context.Context, t *Task) scsi.Sense {
	old, data := split(t.Data, t.length)
	if t.fua { // what is compared must be what would be read after a loss of power
		if err := u.store.Flush(ctx); err != nil {
			return u.senseOf(err, scsi.ASCWriteError)
		}
	}
	at, err := u.compare(ctx, old, t.off, t.length)
	switch {
	case err != nil:
		return u.senseOf(err, scsi.ASCUnrecoveredRead)
	case at >= 0:
		return miscompare(at)
	}
	return u.senseOf(u.store.Write(ctx, data, t.off, t.fua), scsi.ASCWriteError)
}

// split cuts data, which stays where it is, behind n bytes.
func split(data [][]byte, n uint64) (head, tail [][]byte) {
	for i, b := range data {
		if uint64(len(b)) >= n {
			head = append(data[:i:i], b[:n:n])
			return head, append([][]byte{b[n:]}, data[i+1:]...)
		}
		n -= uint64(len(b))
	}
	return data, nil
}

// orState is a unit's state of ORWRITE (SBC-4 4.27.2). It outlives resets of the unit.
type orState struct {
	current, previous uint32
	policy            uint8
}

// orPolicies says what becomes of a set operation that expects the previous generation, or any other: 'w' it is done,
// 'd' it does nothing and ends well, 'r' it is refused (SBC-4 table 29). Policies without a row are reserved.
var orPolicies = [16][2]byte{
	scsi.OrPreviousDone:    {'w', 'r'},
	scsi.OrPreviousIgnored: {'d', 'r'},
	scsi.OrAllDone:         {'w', 'w'},
	scsi.OrAllIgnored:      {'d', 'd'},
	scsi.OrAllRefused:      {'r', 'r'},
}

// orWrite prepares ORWRITE (SBC-4 5.10, 5.11). One that begins a new generation waits for every other task that
// touches blocks, so that each set operation belongs to one generation.
func (s *Server) orWrite(t *Task) Verdict {
	c, err := scsi.ParseOrWrite(t.CDB[:])
	if err != nil {
		return t.fail(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB)
	}
	clears := c.Operation == scsi.OrClear
	switch {
	case c.Operation > scsi.OrClear:
		return t.badField(2, 2)
	case clears && orPolicies[c.PreviousGeneration][0] == 0:
		return t.badField(3, 3)
	}
	fc := t.unit.facts.Load()
	// Also one of no blocks begins a generation.
	if v := t.span(fc, c.LBA, c.Blocks); v == Finished && (t.Status != scsi.StatusGood || !clears) {
		return v
	}
	t.state = taskReady
	t.kind, t.exclusive, t.whole = kindOr, true, clears
	t.fua = t.through(fc, c.FUA, true)
	t.and, t.policy, t.gen = clears, c.PreviousGeneration, c.New
	switch t.unit.or.judge(c.Expected, clears) {
	case 'r':
		return t.fail(scsi.KeyIllegalRequest, ascOrGeneration)
	case 'd':
		t.kind, t.wanted = kindNone, int64(t.length)
		return t.end(scsi.StatusGood)
	}
	return t.take(uint32(t.length))
}

// judge says what becomes of an operation that expects a generation.
func (o *orState) judge(expected uint32, clears bool) byte {
	switch {
	case expected == o.current:
		return 'w'
	case clears:
		return 'r'
	case expected == o.previous:
		return orPolicies[o.policy][0]
	}
	return orPolicies[o.policy][1]
}

// next begins a generation.
func (o *orState) next(gen uint32, policy uint8) {
	o.previous, o.current, o.policy = o.current, gen, policy
}

// workOr changes the blocks bit by bit.
func (u *Unit) workOr(ctx context.Context, t *Task) scsi.Sense {
	buffer := make([]byte, min(t.length, fillBytes))
	bits := cursor{data: t.Data}
	for done := uint64(0); done < t.length; {
		b := buffer[:min(t.length-done, fillBytes)]
		if err := u.store.Read(ctx, [][]byte{b}, t.off+done); err != nil {
			return u.senseOf(err, scsi.ASCUnrecoveredRead)
		}
		for i := 0; i < len(b); {
			w := bits.next(len(b) - i)
			combine(b[i:], w, t.and)
			i += len(w)
		}
		if err := u.store.Write(ctx, [][]byte{b}, t.off+done, false); err != nil {
			return u.senseOf(err, scsi.ASCWriteError)
		}
		done += uint64(len(b))
	}
	return u.last(ctx, t)
}

func combine(b, with []byte, and bool) {
	for i, c := range with {
		if and {
			b[i] &= c
		} else {
			b[i] |= c
		}
	}
}

// ascOrGeneration is ORWRITE GENERATION DOES NOT MATCH.
const ascOrGeneration scsi.ASC = 0x2c0c
