package miniport

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"minisrp/scsi"
)

// starting returns the lines that begin with a message.
func (b *logBook) starting(message string) (lines []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range b.lines {
		if strings.HasPrefix(l, message) {
			lines = append(lines, l)
		}
	}
	return lines
}

// A command that times out is told with what it was, and what the target knows it by; so are the resets after it.
func TestTimeoutIsLogged(t *testing.T) {
	inWorld(t, worldConfig{}, func(t *testing.T, w *world) {
		w.works()
		w.faults("lose,op=read,times=1; lose,op=abort,times=1")
		q := w.rw(false, 24, 8, 0).submit(0, w.units[0])
		after(9 * time.Second)
		if st := q.ended(); st != StatusTimeout {
			t.Fatal(st)
		}
		lines := w.logged.starting("command has timed out and is aborted")
		if len(lines) != 1 {
			t.Fatalf("%q", lines)
		}
		for _, want := range []string{"target=peer", "lun=", "tag=0x", "command=READ(10)", "cdb=28000000001800000800", "timeout=2s"} {
			if !strings.Contains(lines[0], want) {
				t.Errorf("%q does not tell %s", lines[0], want)
			}
		}
		if strings.Contains(lines[0], "tag=0x0 ") {
			t.Errorf("%q: no tag", lines[0])
		}
		if n := w.logged.count("recovery: the unit is reset"); n != 1 {
			t.Errorf("%d lines of a unit's reset", n)
		}
		w.works()
	})
}

// Many at once do not fill the log: the rest is counted, when the next is told or at the end.
func TestTimeoutsAreLoggedWithin(t *testing.T) {
	const many = 100
	inWorld(t, worldConfig{}, func(t *testing.T, w *world) {
		logged := w.logged
		r := &reporter{port: w.port}
		for i := range many {
			r.tell(&report{unit: w.units[0], target: w.target, tag: uint64(i), length: 6})
		}
		if n := logged.count("command has timed out"); n != reportsAPeriod {
			t.Errorf("%d lines of %d commands, want %d", n, many, reportsAPeriod)
		}
		after(reportPeriod)
		r.tell(&report{unit: w.units[0], step: stepUnit})
		want := fmt.Sprintf("more of recovery that was not logged lines=%d", many-reportsAPeriod)
		if len(logged.starting(want)) != 1 {
			t.Errorf("%q, want %q", logged.starting("more"), want)
		}
	})
}

// A ring that nobody takes from keeps the oldest, and counts the others.
func TestReportsKept(t *testing.T) {
	var q reports
	for round := range uint64(3) {
		for i := range uint64(reportsKept + 5) {
			q.put(&report{tag: i})
		}
		for i := range uint64(reportsKept) {
			if of, ok := q.take(); !ok || of.tag != i {
				t.Fatalf("round %d: %d, %t; want %d", round, of.tag, ok, i)
			}
		}
		if _, ok := q.take(); ok || q.missed.Swap(0) != 5 {
			t.Error("what there was no room for")
		}
	}
}

// One channel of several that ends ends its session, and the log says that it was one.
func TestOneChannelEnds(t *testing.T) {
	inWorld(t, worldConfig{procs: 2}, func(t *testing.T, w *world) {
		w.works()
		w.faults("disconnect,op=read,times=1")
		q := w.rw(false, 0, 8, 0).submit(1, w.units[0])
		after(time.Second)
		_ = q.ended()
		w.settled(2)
		lines := w.logged.starting("session ended: one of its channels has")
		if len(lines) != 1 || !strings.Contains(lines[0], "ended=1 channels=2") || !strings.Contains(lines[0], "closed the connection") {
			t.Errorf("%q", w.logged.starting("session ended"))
		}
		w.works()
	})
}

// CONDITION MET is how PRE-FETCH ends that fits the unit's cache (SBC-4 5.13; SAM-5 5.3.1): a success.
func TestConditionMetIsSuccess(t *testing.T) {
	inWorld(t, worldConfig{}, func(t *testing.T, w *world) {
		w.works()
		for _, wide := range []bool{false, true} {
			q := w.rw(false, 0, 8, 0)
			q.Direction, q.Length, q.Data = NoData, 0, nil
			c := scsi.PreFetch{LBA: 8, Blocks: 8}
			q.CDBLength = uint8(c.Put(&q.CDB))
			if wide {
				q.CDBLength = uint8(c.Put16(&q.CDB))
			}
			if st := q.submit(0, w.units[0]).ended(); st != StatusSuccess || q.SCSIStatus != scsi.StatusConditionMet || q.Err() != nil {
				t.Errorf("%v, %v, %v", st, q.SCSIStatus, q.Err())
			}
		}
	})
}
