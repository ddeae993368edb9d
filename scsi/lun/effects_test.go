package lun_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"minisrp/scsi"
	"minisrp/scsi/lun"
	"minisrp/scsi/lun/thin"
	"minisrp/scsi/luntest"
)

// places are the stores on which the effect of every command is looked at. Opened again with the same directory, those
// that keep what they hold have it still.
var places = []struct {
	name  string
	keeps bool
	open  func(dir string) (lun.Store, error)
}{
	{"ram", false, func(dir string) (lun.Store, error) { return lun.NewRAM(testSize, testBlock) }},
	{"file", true, func(dir string) (lun.Store, error) {
		return lun.OpenFile(filepath.Join(dir, "disk"), lun.FileOptions{Size: testSize})
	}},
	{"badger", true, func(dir string) (lun.Store, error) {
		db, err := thin.Open(filepath.Join(dir, "thin"), thin.Options{Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			return nil, err
		}
		s, err := db.Open("disk", thin.Unit{Size: testSize})
		if err != nil {
			return nil, errors.Join(err, db.Close(context.Background()))
		}
		return &owner{s, db}, nil
	}},
}

// owner is a thin store that is the only one of its database.
type owner struct {
	*thin.Store
	db *thin.DB
}

func (o *owner) Close(ctx context.Context) error {
	return errors.Join(o.Store.Close(ctx), o.db.Close(ctx))
}

// effectUnit is a unit on a store of its own, with an initiator whose unit attentions are cleared.
type effectUnit struct {
	*initiator
	t     *testing.T
	place int
	dir   string
	count *luntest.Counter
	unit  *lun.Unit
}

func newEffectUnit(t *testing.T, place int) *effectUnit {
	u := &effectUnit{t: t, place: place, dir: t.TempDir()}
	u.open()
	t.Cleanup(u.close)
	return u
}

func (u *effectUnit) open() {
	u.t.Helper()
	store, err := places[u.place].open(u.dir)
	if err != nil {
		u.t.Fatal(err)
	}
	u.count = luntest.Count(store)
	s := newServer()
	if u.unit, err = lun.NewUnit(s.Processor(), lun.Config{Store: u.count, Serial: "effect"}); err != nil {
		u.t.Fatal(err)
	}
	if err := s.Attach(0, u.unit); err != nil {
		u.t.Fatal(err)
	}
	u.initiator = newInitiator(u.t, s)
	u.piece = 4096
	u.attentions(0)
}

func (u *effectUnit) close() {
	if _, err := u.server.Detach(0); err != nil {
		u.t.Error(err)
	}
	if err := u.unit.Close(context.Background()); err != nil {
		u.t.Error(err)
	}
}

// reopen ends the unit with its store, and makes both anew, where the store keeps what it holds.
func (u *effectUnit) reopen() bool {
	if !places[u.place].keeps {
		return false
	}
	u.close()
	u.open()
	return true
}

// put writes past the device server.
func (u *effectUnit) put(lba uint64, data []byte) {
	u.t.Helper()
	if err := u.count.Write(u.t.Context(), [][]byte{data}, lba*testBlock, false); err != nil {
		u.t.Fatal(err)
	}
}

// holds reads blocks back from the store, by READ, and, where the store keeps them, once more after a restart.
func (u *effectUnit) holds(lba uint64, want []byte) {
	u.t.Helper()
	for range 2 {
		got := make([]byte, len(want))
		if err := u.count.Read(u.t.Context(), [][]byte{got}, lba*testBlock); err != nil {
			u.t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			u.t.Fatal("the store holds something else")
		}
		u.expect(lba, want)
		if !u.reopen() {
			return
		}
	}
}

// flushed counts the flushes of the store so far.
func (u *effectUnit) flushed() int64 {
	n, _ := u.count.Calls(luntest.Flush)
	return n
}

// effects look, for each command that the unit says it knows, at what the command does.
func effects() map[string]func(t *testing.T, u *effectUnit) {
	all := map[string]func(t *testing.T, u *effectUnit){
		"TEST UNIT READY": func(t *testing.T, u *effectUnit) { u.do(0, make([]byte, 6), nil, 0).good() },
		"REQUEST SENSE": func(t *testing.T, u *effectUnit) {
			u.begin(lun.LogicalUnitReset, 0, 0)
			for _, want := range []scsi.ASC{scsi.ASCTargetReset, scsi.ASCNone} {
				got := must(scsi.ParseSense(u.do(0, cdb(&scsi.RequestSense{AllocationLength: 18}), nil, 18).good().got))
				if got.ASC != want {
					t.Errorf("%v, want %v", got, want)
				}
			}
		},
		"INQUIRY": func(t *testing.T, u *effectUnit) {
			q := must(scsi.ParseStandardInquiry(u.inquiry(0, false, 0)))
			if q.Device != scsi.DeviceDisk || q.ProductText() != u.count.Info().Kind+" disk" {
				t.Errorf("%+v", q)
			}
			if v := must(scsi.ParseVPD(u.inquiry(0, true, scsi.VPDSerialNumber), scsi.VPDSerialNumber)); v.SerialText() != "effect" {
				t.Errorf("serial %q", v.SerialText())
			}
		},
		"REPORT LUNS": func(t *testing.T, u *effectUnit) {
			if got := u.luns(0, scsi.ReportAddressable); !slices.Equal(got, []scsi.LUN{0}) {
				t.Errorf("%v", got)
			}
		},
		"REPORT SUPPORTED OPERATION CODES": func(t *testing.T, u *effectUnit) {
			if n := len(u.commands()); n != len(effects()) {
				t.Errorf("%d commands, %d have an effect", n, len(effects()))
			}
		},
		"START STOP UNIT":           startStopEffect,
		"LOG SENSE":                 logSenseEffect,
		"LOG SELECT":                logSelectEffect,
		"REPORT TARGET PORT GROUPS": reportGroupsEffect,
		"SET TARGET PORT GROUPS":    setGroupsEffect,
		"REPORT SUPPORTED TASK MANAGEMENT FUNCTIONS": reportFunctionsEffect,
		"MODE SELECT(6)":        modeSelectEffect(false),
		"MODE SELECT(10)":       modeSelectEffect(true),
		"MODE SENSE(6)":         modeSenseEffect(false),
		"MODE SENSE(10)":        modeSenseEffect(true),
		"READ CAPACITY(10)":     readCapacity10Effect,
		"READ CAPACITY(16)":     readCapacity16Effect,
		"READ(6)":               readEffect(6),
		"READ(10)":              readEffect(10),
		"READ(12)":              readEffect(12),
		"READ(16)":              readEffect(16),
		"READ(32)":              readEffect(32),
		"WRITE(6)":              writeEffect(6),
		"WRITE(10)":             writeEffect(10),
		"WRITE(12)":             writeEffect(12),
		"WRITE(16)":             writeEffect(16),
		"WRITE(32)":             writeEffect(32),
		"WRITE SAME(10)":        writeSameEffect(false),
		"WRITE SAME(16)":        writeSameEffect(true),
		"UNMAP":                 unmapEffect,
		"VERIFY(10)":            verifyEffect(10),
		"VERIFY(12)":            verifyEffect(12),
		"VERIFY(16)":            verifyEffect(16),
		"COMPARE AND WRITE":     compareAndWriteEffect,
		"ORWRITE(16)":           orWriteEffect(false),
		"ORWRITE(32)":           orWriteEffect(true),
		"WRITE AND VERIFY(10)":  writeVerifyEffect(10),
		"WRITE AND VERIFY(12)":  writeVerifyEffect(12),
		"WRITE AND VERIFY(16)":  writeVerifyEffect(16),
		"GET LBA STATUS(16)":    lbaStatusEffect,
		"PRE-FETCH(10)":         preFetchEffect(false),
		"PRE-FETCH(16)":         preFetchEffect(true),
		"SYNCHRONIZE CACHE(10)": syncEffect(false),
		"SYNCHRONIZE CACHE(16)": syncEffect(true),
	}
	maps.Copy(all, reservationEffects())
	return all
}

// commands returns the names of the commands that the unit lists.
func (x *initiator) commands() (names []string) {
	for name := range x.commandCDBs() {
		names = append(names, name)
	}
	return names
}

// commandCDBs calls yield with the name of each command that the unit lists and a CDB of it.
func (x *initiator) commandCDBs() func(yield func(name string, cdb []byte) bool) {
	data := x.do(0, cdb(&scsi.ReportSupported{AllocationLength: 4096}), nil, 4096).good().got
	entries, _, err := scsi.ParseSupportedList(data)
	if err != nil {
		x.tb.Fatal(err)
	}
	return func(yield func(name string, cdb []byte) bool) {
		for {
			c, rest, ok := scsi.NextSupported(entries)
			if !ok {
				return
			}
			var b scsi.CDB
			switch b[0] = byte(c.Opcode); {
			case c.Opcode == scsi.OpVariableLength:
				b[7], b[9] = 24, byte(c.ServiceAction)
			case c.HasServiceAction:
				b[1] = byte(c.ServiceAction)
			}
			if !yield(scsi.CommandName(b[:]), b[:c.Length]) {
				return
			}
			entries = rest
		}
	}
}

// Every command that a unit lists has an effect that can be read back, on each kind of store.
func TestEffects(t *testing.T) {
	for place := range places {
		t.Run(places[place].name, func(t *testing.T) {
			names := newEffectUnit(t, place).commands()
			for _, name := range names {
				effect := effects()[name]
				if effect == nil {
					t.Errorf("no effect of %s is looked at", name)
					continue
				}
				t.Run(name, func(t *testing.T) { effect(t, newEffectUnit(t, place)) })
			}
			for name := range effects() {
				if !slices.Contains(names, name) {
					t.Errorf("%s is not listed", name)
				}
			}
		})
	}
}

func modeSenseEffect(ten bool) func(t *testing.T, u *effectUnit) {
	return func(t *testing.T, u *effectUnit) {
		m := scsi.ModeSense{Ten: ten, Page: scsi.ModePageCaching, AllocationLength: 255}
		h, pages, err := scsi.ParseModeData(u.do(0, cdb(&m), nil, 255).good().got, ten)
		if err != nil || h.Descriptor.Blocks != testBlocks {
			t.Fatalf("%+v, %v", h, err)
		}
		body, _ := scsi.FindModePage(pages, scsi.ModePageCaching, 0)
		if p := must(scsi.ParseCachingPage(body)); p.WriteCache != u.count.Info().Volatile {
			t.Errorf("%+v", p)
		}
	}
}

func readCapacity10Effect(t *testing.T, u *effectUnit) {
	var b scsi.CDB
	scsi.PutReadCapacity10(&b)
	if c := must(scsi.ParseCapacity10(u.do(0, b[:], nil, 8).good().got)); c.LastLBA != testBlocks-1 || c.BlockSize != testBlock {
		t.Errorf("%+v", c)
	}
}

func readCapacity16Effect(t *testing.T, u *effectUnit) {
	b := cdb(&scsi.ReadCapacity16{AllocationLength: 32})
	if c := must(scsi.ParseCapacity16(u.do(0, b, nil, 32).good().got)); c.LastLBA != testBlocks-1 || c.BlockSize != testBlock {
		t.Errorf("%+v", c)
	}
}

// sized encodes a command that there is in several sizes.
func sized(c interface {
	PutSize(cdb *scsi.CDB, size int) error
}, size int) []byte {
	var b scsi.CDB
	if err := c.PutSize(&b, size); err != nil {
		panic(err)
	}
	return b[:size]
}

func readEffect(size int) func(t *testing.T, u *effectUnit) {
	return func(t *testing.T, u *effectUnit) {
		data := pattern(uint64(size), 20*testBlock)
		u.put(3, data)
		c := u.do(0, sized(&scsi.RW{LBA: 3, Blocks: 20}, size), nil, len(data)).good()
		if !bytes.Equal(c.got, data) {
			t.Error("READ gives something else")
		}
	}
}

func writeEffect(size int) func(t *testing.T, u *effectUnit) {
	return func(t *testing.T, u *effectUnit) {
		disk := pattern(1, 64*testBlock)
		u.put(0, disk)
		data := pattern(uint64(size), 20*testBlock)
		u.do(0, sized(&scsi.RW{Write: true, LBA: 3, Blocks: 20}, size), data, 0).good()
		copy(disk[3*testBlock:], data)
		u.holds(0, disk)
	}
}

func writeSameEffect(wide bool) func(t *testing.T, u *effectUnit) {
	return func(t *testing.T, u *effectUnit) {
		disk := pattern(1, 64*testBlock)
		u.put(0, disk)
		c := scsi.WriteSame{LBA: 5, Blocks: 30}
		block := pattern(2, testBlock)
		b := cdb(&c)
		if wide {
			var w scsi.CDB
			c.Put16(&w)
			b = w[:16]
		}
		u.do(0, b, block, 0).good()
		copy(disk[5*testBlock:], bytes.Repeat(block, 30))
		u.holds(0, disk)
	}
}

func unmapEffect(t *testing.T, u *effectUnit) {
	disk := pattern(1, 64*testBlock)
	u.put(0, disk)
	u.unmap(scsi.Extent{LBA: 8, Blocks: 16}, scsi.Extent{LBA: 33, Blocks: 1}).good()
	clear(disk[8*testBlock : 24*testBlock])
	clear(disk[33*testBlock : 34*testBlock])
	u.holds(0, disk)
}

func syncEffect(wide bool) func(t *testing.T, u *effectUnit) {
	return func(t *testing.T, u *effectUnit) {
		before := u.flushed()
		c := scsi.SyncCache{}
		b := cdb(&c)
		if wide {
			var w scsi.CDB
			c.Put16(&w)
			b = w[:16]
		}
		u.do(0, b, nil, 0).good()
		if want := map[bool]int64{true: 1}[u.count.Info().Volatile]; u.flushed()-before != want {
			t.Errorf("%d flushes, want %d", u.flushed()-before, want)
		}
	}
}
