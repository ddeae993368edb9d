package lun_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"testing"

	"minisrp/scsi"
	"minisrp/scsi/lun"
	"minisrp/scsi/luntest"
)

// compareAndWrite makes the command, whose data is what the blocks are to have and then what they get.
func (x *initiator) compareAndWrite(lba uint64, old, data []byte) *command {
	c := scsi.CompareAndWrite{LBA: lba, Blocks: uint8(len(data) / testBlock)}
	return x.command(0, cdb(&c), append(bytes.Clone(old), data...), 0)
}

func compareAndWriteEffect(t *testing.T, u *effectUnit) {
	disk := pattern(1, 64*testBlock)
	u.put(0, disk)
	for i, n := range []int{1, 9, 30} {
		lba := uint64(2 + 3*i)
		old, data := disk[lba*testBlock:][:n*testBlock], pattern(uint64(10+i), n*testBlock)
		u.compareAndWrite(lba, old, data).run().good()
		copy(disk[lba*testBlock:], data)
		u.holds(0, disk)
		for _, at := range []int{0, n*testBlock - 1, n * testBlock / 2} {
			old := bytes.Clone(disk[lba*testBlock:][:n*testBlock])
			old[at] ^= 0x80
			u.compareAndWrite(lba, old, pattern(99, n*testBlock)).run().differs(uint64(at))
		}
		u.holds(0, disk)
	}
	u.compareAndWrite(0, nil, nil).run().good()
	u.compareAndWrite(testBlocks, disk[:testBlock], disk[:testBlock]).run().check(scsi.KeyIllegalRequest, scsi.ASCLBAOutOfRange)
	many := pattern(3, 129*testBlock)
	u.compareAndWrite(0, many, many).run().check(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB)
	short := u.compareAndWrite(0, disk[:testBlock], pattern(4, testBlock))
	short.OutLength = testBlock // the second half is missing
	s, _ := scsi.ParseSense(short.run().check(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB).Sense())
	if p, ok := s.FieldPointer(); !ok || p.Byte != 13 {
		t.Errorf("%v", s)
	}
	u.holds(0, disk)

	before := u.flushed() + u.count.FUA()
	fua := u.compareAndWrite(0, disk[:testBlock], pattern(5, testBlock))
	fua.CDB[1] |= 0x08
	fua.run().good()
	if (u.flushed()+u.count.FUA() > before) != u.count.Info().Volatile {
		t.Error("FUA does not reach the store")
	}
}

// Many that expect the same at the same time: one wins, and the others are told.
func TestCompareAndWriteIsAtomic(t *testing.T) {
	withUnit(t, func(t *testing.T, x *initiator) {
		block := make([]byte, testBlock)
		for round := range uint64(20) {
			var all []*command
			for i := range uint64(16) {
				data := make([]byte, testBlock)
				binary.BigEndian.PutUint64(data, round<<8|i+1)
				c := x.compareAndWrite(7, block, data)
				if c.prepare() == lun.Proceed {
					c.fetch()
					c.execute()
				}
				all = append(all, c)
			}
			won := 0
			for _, c := range all {
				switch c.finish(); c.Status {
				case scsi.StatusGood:
					won++
					block = c.out[testBlock:]
				default:
					c.check(scsi.KeyMiscompare, scsi.ASCMiscompare)
				}
			}
			if won != 1 {
				t.Fatalf("round %d: %d have won", round, won)
			}
			x.expect(7, block)
		}
	})
}

// finish brings a command that has been prepared to its end.
func (c *command) finish() {
	if c.verdict == lun.Blocked {
		c.x.wait(func() bool { return c.ready })
	}
	if c.verdict == lun.Proceed {
		if c.Data == nil && c.in == nil {
			c.fetch()
			if c.execute() == lun.Done {
				c.release()
				return
			}
		}
		c.x.wait(func() bool { return c.ended > 0 })
	}
	c.release()
}

// A COMPARE AND WRITE waits for what touches its blocks, and what comes later waits for it; all else goes on.
func TestExclusiveTasksWait(t *testing.T) {
	s := newServer()
	gate := luntest.Pause(ram(testSize))
	attach(t, s, 0, lun.Config{Store: gate})
	x := newInitiator(t, s)
	x.attentions(0)
	zeros, data := make([]byte, testBlock), pattern(1, testBlock)
	write := func(lba uint64) *command {
		return x.command(0, cdb(&scsi.RW{Write: true, LBA: lba, Blocks: 2}), pattern(2, 2*testBlock), 0)
	}
	read := func(lba uint64, a scsi.TaskAttribute) *command {
		c := x.command(0, cdb(&scsi.RW{LBA: lba, Blocks: 1}), nil, testBlock)
		c.Attribute = a
		return c
	}
	wants := func(c *command, want lun.Verdict, what string) {
		t.Helper()
		if got := c.prepare(); got != want {
			t.Fatalf("%s: verdict %d, want %d", what, got, want)
		}
	}
	go1 := func(c *command) {
		c.fetch()
		c.execute()
	}

	first := write(10)
	wants(first, lun.Proceed, "a write alone")
	caw := x.compareAndWrite(11, zeros, data)
	wants(caw, lun.Blocked, "COMPARE AND WRITE beside a write of its block")
	apart := x.compareAndWrite(12, zeros, data)
	wants(apart, lun.Proceed, "COMPARE AND WRITE of a block beside")
	behind := read(11, scsi.TaskSimple)
	wants(behind, lun.Blocked, "a read behind the one that waits")
	ahead := read(11, scsi.TaskHeadOfQueue)
	wants(ahead, lun.Proceed, "a HEAD OF QUEUE read overtakes")
	beside := read(13, scsi.TaskSimple)
	wants(beside, lun.Proceed, "a read of other blocks")
	list := unmapList(scsi.Extent{LBA: 100, Blocks: 1})
	unmap := x.command(0, cdb(&scsi.Unmap{ParameterListLength: uint16(len(list))}), list, 0)
	wants(unmap, lun.Blocked, "UNMAP, which may touch any block")

	for _, c := range []*command{first, ahead, beside, apart} {
		go1(c)
		c.x.wait(func() bool { return c.ended > 0 })
	}
	first.release()
	x.server.Processor().RunUntilIdle()
	if caw.ready || behind.ready {
		t.Fatal("goes on while the HEAD OF QUEUE read still moves its data")
	}
	ahead.release()
	x.server.Processor().RunUntilIdle()
	if !caw.ready || behind.ready || unmap.ready {
		t.Fatalf("COMPARE AND WRITE ready %v, read %v, UNMAP %v", caw.ready, behind.ready, unmap.ready)
	}
	gate.Shut()
	go1(caw)
	<-gate.Arrived()
	late := read(11, scsi.TaskHeadOfQueue)
	wants(late, lun.Blocked, "a HEAD OF QUEUE read beside COMPARE AND WRITE at work")
	gate.Open()
	for _, c := range []*command{caw, behind, late, unmap, beside, apart} {
		if c != caw && c != beside && c != apart {
			c.finish()
			continue
		}
		c.x.wait(func() bool { return c.ended > 0 })
		c.release()
	}
	caw.differs(0) // the write came first
	apart.good()
	behind.good()
}

// pausedRAM is memory that devices reach by themselves, with workers that can be stopped.
type pausedRAM struct {
	*luntest.Gate
	lun.Mapped
}

func (s pausedRAM) Info() lun.Info { return s.Mapped.Info() }

func (s pausedRAM) Read(ctx context.Context, p [][]byte, off uint64) error {
	return s.Gate.Read(ctx, p, off)
}

func (s pausedRAM) Write(ctx context.Context, p [][]byte, off uint64, fua bool) error {
	return s.Gate.Write(ctx, p, off, fua)
}

func (s pausedRAM) Flush(ctx context.Context) error { return s.Gate.Flush(ctx) }

func (s pausedRAM) Unmap(ctx context.Context, off, n uint64) error { return s.Gate.Unmap(ctx, off, n) }

func (s pausedRAM) Zero(ctx context.Context, off, n uint64, hole bool) error {
	return s.Gate.Zero(ctx, off, n, hole)
}

func (s pausedRAM) Close(ctx context.Context) error { return s.Gate.Close(ctx) }

// While a worker clears blocks of a memory that devices reach by themselves, no device does: it would see half a block.
func TestClearingIsAlone(t *testing.T) {
	list := unmapList(scsi.Extent{LBA: 10, Blocks: 2})
	for name, clear := range map[string]func(x *initiator) *command{
		"WRITE SAME": func(x *initiator) *command {
			return x.command(0, cdb(&scsi.WriteSame{LBA: 10, Blocks: 2, NoData: true}), nil, 0)
		},
		"UNMAP": func(x *initiator) *command {
			return x.command(0, cdb(&scsi.Unmap{ParameterListLength: uint16(len(list))}), list, 0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			memory := ram(testSize)
			gate := luntest.Pause(memory)
			attach(t, s, 0, lun.Config{Store: pausedRAM{gate, memory.(lun.Mapped)}})
			x := newInitiator(t, s)
			x.attentions(0)
			gate.Shut()
			c := clear(x)
			if v := c.prepare(); v != lun.Proceed {
				t.Fatalf("verdict %d", v)
			}
			c.fetch()
			c.execute()
			<-gate.Arrived()
			read := x.command(0, cdb(&scsi.RW{LBA: 11, Blocks: 1}), nil, testBlock)
			if v := read.prepare(); v != lun.Blocked {
				t.Errorf("a read of the same block: verdict %d", v)
			}
			write := x.command(0, cdb(&scsi.RW{Write: true, LBA: 11, Blocks: 1}), pattern(1, testBlock), 0)
			if v := write.prepare(); v != lun.Blocked {
				t.Errorf("a write of the same block: verdict %d", v)
			}
			gate.Open()
			c.x.wait(func() bool { return c.ended > 0 })
			c.release()
			x.server.Processor().RunUntilIdle()
			if !read.ready || !write.ready {
				t.Errorf("afterwards: read ready %v, write ready %v", read.ready, write.ready)
			}
			read.release()
			write.release()
		})
	}
}

// A task that waits for another's blocks can be aborted, and its function is answered at once.
func TestAbortOfParkedTask(t *testing.T) {
	s := newServer()
	attach(t, s, 0, lun.Config{Store: luntest.Count(ram(testSize))})
	x := newInitiator(t, s)
	x.attentions(0)
	data := pattern(1, testBlock)
	first := x.command(0, cdb(&scsi.RW{Write: true, LBA: 1, Blocks: 1}), data, 0)
	first.prepare()
	caw := x.compareAndWrite(1, data, data)
	behind := x.command(0, cdb(&scsi.RW{LBA: 1, Blocks: 1}), nil, testBlock)
	if caw.prepare() != lun.Blocked || behind.prepare() != lun.Blocked {
		t.Fatal("not blocked")
	}
	x.manage(lun.AbortTask, 0, caw.Tag)
	if !caw.ready || caw.verdict != lun.Finished || !caw.Quiet {
		t.Errorf("ready %v, verdict %d, quiet %v", caw.ready, caw.verdict, caw.Quiet)
	}
	caw.release()
	x.server.Processor().RunUntilIdle()
	if !behind.ready {
		t.Error("the read behind it still waits")
	}
	behind.finish()
	first.finish()
	if got := behind.got; !bytes.Equal(got, make([]byte, testBlock)) && !bytes.Equal(got, data) {
		t.Error("the read gives something else")
	}
}

func orWriteEffect(wide bool) func(t *testing.T, u *effectUnit) {
	return func(t *testing.T, u *effectUnit) {
		disk := pattern(1, 2048*testBlock)
		u.put(0, disk)
		or := func(lba int, n int, seed uint64) {
			bits := pattern(seed, n*testBlock)
			u.do(0, cdb(&scsi.OrWrite{Wide: wide, LBA: uint64(lba), Blocks: uint32(n)}), bits, 0).good()
			for i, b := range bits {
				disk[lba*testBlock+i] |= b
			}
		}
		or(3, 1, 2)
		or(17, 2000, 3)
		u.do(0, cdb(&scsi.OrWrite{Wide: wide, LBA: 5}), nil, 0).good()
		u.do(0, cdb(&scsi.OrWrite{Wide: wide, LBA: testBlocks, Blocks: 1}), disk[:testBlock], 0).check(scsi.KeyIllegalRequest, scsi.ASCLBAOutOfRange)
		u.holds(0, disk)
		if !wide {
			return
		}
		mask := pattern(4, 9*testBlock)
		u.do(0, cdb(&scsi.OrWrite{Wide: true, Operation: scsi.OrClear, LBA: 30, Blocks: 9, New: 5}), mask, 0).good()
		for i, b := range mask {
			disk[30*testBlock+i] &= b
		}
		u.holds(0, disk)
	}
}

// ORWRITE does, by the generation that it expects and the policy in force, what SBC-4 table 29 says.
func TestOrWriteGenerations(t *testing.T) {
	const ascGeneration = 0x2c0c
	for policy := range uint8(16) {
		t.Run(fmt.Sprint(policy), func(t *testing.T) {
			s := newServer()
			attach(t, s, 0, lun.Config{Store: ram(testSize)})
			x := newInitiator(t, s)
			x.attentions(0)
			generation := func(expected, next uint32, policy uint8) *command {
				return x.do(0, cdb(&scsi.OrWrite{Wide: true, Operation: scsi.OrClear, PreviousGeneration: policy, Expected: expected, New: next}), nil, 0)
			}
			row, known := map[uint8]string{0: "wr", 2: "dr", 3: "ww", 5: "dd", 7: "rr"}[policy]
			if !known {
				s, _ := scsi.ParseSense(generation(0, 1, policy).check(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB).Sense())
				if p, ok := s.FieldPointer(); !ok || p.Byte != 3 {
					t.Errorf("%v", s)
				}
				return
			}
			generation(0, 10, scsi.OrAllRefused).good()
			generation(10, 20, policy).good() // 10 is the previous generation now
			generation(10, 30, 7).check(scsi.KeyIllegalRequest, ascGeneration)
			x.manage(lun.LogicalUnitReset, 0, 0) // which changes nothing of this
			x.attentions(0)
			bits := bytes.Repeat([]byte{0xa0}, testBlock)
			for lba, c := range []struct {
				expected uint32
				want     byte
			}{{20, 'w'}, {10, row[0]}, {99, row[1]}} {
				k := x.do(0, cdb(&scsi.OrWrite{Wide: true, LBA: uint64(lba), Blocks: 1, Expected: c.expected, New: 77}), bits, 0)
				if c.want == 'r' {
					k.check(scsi.KeyIllegalRequest, ascGeneration)
				} else if k.good(); k.OutResidual != 0 {
					t.Errorf("residual %d", k.OutResidual)
				}
				want := make([]byte, testBlock)
				if c.want == 'w' {
					want = bits
				}
				x.expect(uint64(lba), want)
			}
			// ORWRITE(16) expects generation 0.
			k := x.do(0, cdb(&scsi.OrWrite{LBA: 9, Blocks: 1}), bits, 0)
			if row[1] == 'r' {
				k.check(scsi.KeyIllegalRequest, ascGeneration)
			} else {
				k.good()
			}
		})
	}
}
