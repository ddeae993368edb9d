package lun_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"pgregory.net/rapid"

	"minisrp/scsi"
	"minisrp/scsi/lun"
	"minisrp/scsi/lun/thin"
)

// access is what a command does to one block: read it, write it, or write it if it has a value. Blocks have a value from
// 0 to 7, in every 8 bytes.
type access struct {
	block   int
	write   bool
	compare bool
	old     uint64
	value   uint64
}

// seen is what came of it: the value, or whether it was written.
type seen struct {
	value   uint64
	written bool
}

// linearBlocks are six extents, three on each side of a chunk's end.
const (
	linearBlocks = 48
	linearFirst  = 16<<20/testBlock - linearBlocks/2
	linearValues = 8
)

// blockModel is one block: SCSI promises no more than that about commands that overlap, but for those that compare.
var blockModel = porcupine.Model{
	Partition: func(all []porcupine.Operation) [][]porcupine.Operation {
		by := make([][]porcupine.Operation, linearBlocks)
		for _, o := range all {
			b := o.Input.(access).block
			by[b] = append(by[b], o)
		}
		return by
	},
	Init: func() any { return uint64(0) },
	Step: func(state, input, output any) (bool, any) {
		in, out, has := input.(access), output.(seen), state.(uint64)
		switch {
		case in.compare && out.written != (has == in.old):
			return false, state
		case in.write && out.written:
			return true, in.value
		}
		return in.write || out.value == has, state
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v → %+v", input, output) },
}

// linear is a thin unit, and what was done to it.
type linear struct {
	t    *testing.T
	dir  string
	name string
	db   *thin.DB
	s    *thin.Store
	u    *lun.Unit
	x    *initiator

	clock int64
	all   []porcupine.Operation
}

func (l *linear) openDB() {
	l.t.Helper()
	db, err := thin.Open(l.dir, thin.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		l.t.Fatal(err)
	}
	l.db = db
}

func (l *linear) open() {
	l.t.Helper()
	s, err := l.db.Open(l.name, thin.Unit{Size: 32 << 20, BlockSize: testBlock})
	if err != nil {
		l.t.Fatal(err)
	}
	server := newServer()
	l.s, l.u = s, must(lun.NewUnit(server.Processor(), lun.Config{Store: s, Serial: "linear"}))
	if err := server.Attach(0, l.u); err != nil {
		l.t.Fatal(err)
	}
	l.x = newInitiator(l.t, server)
	l.x.attentions(0)
}

func (l *linear) close() {
	l.t.Helper()
	if err := l.u.Close(l.t.Context()); err != nil {
		l.t.Fatal(err)
	}
}

func (l *linear) tick() int64 {
	l.clock++
	return l.clock
}

// note notes what a command did to n blocks, each of which it meets by itself.
func (l *linear) note(call int64, first, n int, in access, out func(i int) seen) {
	back := l.tick()
	for i := range n {
		in.block = first + i
		l.all = append(l.all, porcupine.Operation{Input: in, Output: out(i), Call: call, Return: back})
	}
}

// blockOf returns n blocks of a value.
func blocksOf(value uint64, n int) []byte {
	return bytes.Repeat(binary.BigEndian.AppendUint64(nil, value), n*testBlock/8)
}

// valueOf returns a block's value; a block that is a mix has none that can be.
func valueOf(b []byte) uint64 {
	if !bytes.Equal(b[8:], b[:testBlock-8]) {
		return linearValues
	}
	return binary.BigEndian.Uint64(b)
}

// linearCommand is a command under way.
type linearCommand struct {
	*command
	call     int64
	first, n int
	in       access
	begun    bool
}

// draw draws a command and gives it to the unit.
func (l *linear) draw(rt *rapid.T) *linearCommand {
	k := &linearCommand{call: l.tick()}
	k.first = rapid.IntRange(0, linearBlocks-1).Draw(rt, "first")
	k.n = rapid.IntRange(1, min(20, linearBlocks-k.first)).Draw(rt, "blocks")
	k.in.value = rapid.Uint64Range(0, linearValues-1).Draw(rt, "value")
	lba, blocks := uint64(linearFirst+k.first), uint32(k.n)
	kind := rapid.SampledFrom([]string{"read", "read", "write", "write", "write with FUA", "write same", "unmap", "compare"}).Draw(rt, "kind")
	k.in.write = kind != "read"
	switch kind {
	case "read":
		k.command = l.x.command(0, cdb(&scsi.RW{LBA: lba, Blocks: blocks}), nil, k.n*testBlock)
	case "write", "write with FUA":
		rw := scsi.RW{Write: true, FUA: kind != "write", LBA: lba, Blocks: blocks}
		k.command = l.x.command(0, cdb(&rw), blocksOf(k.in.value, k.n), 0)
	case "write same":
		same := scsi.WriteSame{LBA: lba, Blocks: blocks, Unmap: rapid.Bool().Draw(rt, "unmap")}
		k.command = l.x.command(0, cdb(&same), blocksOf(k.in.value, 1), 0)
	case "unmap":
		k.in.value = 0
		list := unmapList(scsi.Extent{LBA: lba, Blocks: blocks})
		k.command = l.x.command(0, cdb(&scsi.Unmap{ParameterListLength: uint16(len(list))}), list, 0)
	case "compare":
		k.n, k.in.compare = 1, true
		k.in.old = rapid.Uint64Range(0, linearValues-1).Draw(rt, "old")
		k.command = l.x.compareAndWrite(lba, blocksOf(k.in.old, 1), blocksOf(k.in.value, 1))
	}
	k.ready = k.prepare() != lun.Blocked
	return k
}

// step takes a command one step on, and reports whether it has ended.
func (l *linear) step(k *linearCommand) (ended bool) {
	if k.ready && !k.begun {
		if k.verdict != lun.Proceed {
			l.t.Fatalf("%+v is refused: %v", k.in, k.err())
		}
		k.begun = true
		k.fetch()
		k.execute()
	}
	if k.ended == 0 {
		return false
	}
	k.release()
	in := k.in
	miscompared := in.compare && k.Status == scsi.StatusCheckCondition
	if !miscompared {
		k.good()
	}
	l.note(k.call, k.first, k.n, in, func(i int) seen {
		if in.write {
			return seen{written: !miscompared}
		}
		return seen{value: valueOf(k.got[i*testBlock:][:testBlock])}
	})
	return true
}

// round runs some commands at the same time, perhaps with a snapshot.
func (l *linear) round(rt *rapid.T) {
	snapshot := make(chan func())
	call, asked := l.tick(), rapid.IntRange(0, 3).Draw(rt, "snapshot") == 0
	if asked {
		go func() { snapshot <- l.snapshot(call) }()
	}
	var under []*linearCommand
	for range rapid.IntRange(1, 8).Draw(rt, "commands") {
		under = append(under, l.draw(rt))
	}
	l.x.wait(func() bool {
		left := under[:0]
		for _, k := range under {
			if !l.step(k) {
				left = append(left, k)
			}
		}
		under = left
		return len(under) == 0
	})
	if asked {
		(<-snapshot)()
	}
}

// snapshot takes one, and returns what says what is in it.
func (l *linear) snapshot(call int64) func() {
	var b bytes.Buffer
	err := l.s.Snapshot(l.t.Context(), &b)
	return func() {
		back := l.tick()
		name := fmt.Sprint(l.name, "-", back)
		if err == nil {
			err = l.db.Restore(l.t.Context(), &b, name)
		}
		if err != nil {
			l.t.Fatal(err)
		}
		s, err := l.db.Open(name, thin.Unit{BlockSize: testBlock})
		if err != nil {
			l.t.Fatal(err)
		}
		got := make([]byte, linearBlocks*testBlock)
		if err := s.Read(l.t.Context(), [][]byte{got}, linearFirst*testBlock); err != nil {
			l.t.Fatal(err)
		}
		if err := s.Close(l.t.Context()); err != nil {
			l.t.Fatal(err)
		}
		for i := range linearBlocks {
			l.all = append(l.all, porcupine.Operation{
				Input: access{block: i}, Output: seen{value: valueOf(got[i*testBlock:][:testBlock])}, Call: call, Return: back,
			})
		}
	}
}

// Commands that overlap at a thin unit, snapshots taken meanwhile, and what is there after the unit or its database was
// opened again: each block is as one order of them has it that agrees with the order in which they ended.
func TestThinLinearizable(t *testing.T) {
	l := &linear{t: t, dir: t.TempDir()}
	l.openDB()
	// A check takes several syncs of a disk, so there are few.
	checks, most := 0, 10
	if testing.Short() {
		most = 3
	}
	rapid.Check(t, func(rt *rapid.T) {
		if checks++; checks > most {
			return
		}
		l.name, l.clock, l.all = fmt.Sprint("disk", checks), 0, nil
		l.open()
		for range rapid.IntRange(2, 6).Draw(rt, "rounds") {
			l.round(rt)
			switch rapid.SampledFrom([]string{"", "", "unit", "database"}).Draw(rt, "again") {
			case "unit":
				l.close()
				l.open()
			case "database":
				l.close()
				if err := l.db.Close(t.Context()); err != nil {
					t.Fatal(err)
				}
				l.openDB()
				l.open()
			}
		}
		l.close()
		if res := porcupine.CheckOperationsTimeout(blockModel, l.all, time.Minute); res != porcupine.Ok {
			rt.Errorf("%d accesses: %v", len(l.all), res)
		}
	})
	if err := l.db.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
