package lun_test

import (
	"bytes"
	"path/filepath"
	"slices"
	"testing"

	"minisrp/scsi"
	"minisrp/scsi/lun"
	"minisrp/scsi/luntest"
)

// named makes an initiator with a port identifier that ends with id.
func named(tb testing.TB, s *lun.Server, id byte) *initiator {
	x := newInitiator(tb, s)
	x.nexus.Initiator[15] = id
	x.attentions(0)
	return x
}

// persist sends PERSISTENT RESERVE OUT.
func (x *initiator) persist(action uint16, kind scsi.ReservationType, l scsi.ReserveList) *command {
	b := l.Append(nil)
	return x.do(0, cdb(&scsi.ReserveOut{Action: action, Type: kind, ParameterListLength: uint32(len(b))}), b, 0)
}

func (x *initiator) register(key uint64) *command {
	return x.persist(scsi.SARegisterIgnore, 0, scsi.ReserveList{ServiceKey: key})
}

func (x *initiator) inquire(action uint16) []byte {
	x.tb.Helper()
	return x.do(0, cdb(&scsi.ReserveIn{Action: action, AllocationLength: 8192}), nil, 8192).good().got
}

func (x *initiator) keys() (generation uint32, keys []uint64) {
	x.tb.Helper()
	generation, body, whole, err := scsi.ParseReserveHeader(x.inquire(scsi.SAReadKeys))
	if err != nil || !whole {
		x.tb.Fatalf("READ KEYS: %v", err)
	}
	scsi.ParseKeys(body, func(k uint64) bool { keys = append(keys, k); return true })
	return generation, keys
}

// reservation returns the type and the key of the reservation, zeros if there is none.
func (x *initiator) reservation() (scsi.ReservationType, uint64) {
	x.tb.Helper()
	_, body, _, err := scsi.ParseReserveHeader(x.inquire(scsi.SAReadReservation))
	if err != nil || len(body) == 0 {
		return 0, 0
	}
	r := must(scsi.ParseReservation(body))
	return r.Type, r.Key
}

func (x *initiator) holds(kind scsi.ReservationType, key uint64, keys ...uint64) {
	x.tb.Helper()
	if k, n := x.reservation(); k != kind || n != key {
		x.tb.Errorf("reservation %v with key %#x, want %v with %#x", k, n, kind, key)
	}
	if _, got := x.keys(); !slices.Equal(got, keys) {
		x.tb.Errorf("keys %#x, want %#x", got, keys)
	}
}

func (c *command) conflict() *command {
	c.x.tb.Helper()
	if c.Status != scsi.StatusReservationConflict {
		c.x.tb.Errorf("%s: %v % x, want RESERVATION CONFLICT", scsi.CommandName(c.CDB[:]), c.Status, c.Sense())
	}
	return c
}

var reservationTypes = []scsi.ReservationType{
	scsi.WriteExclusive, scsi.ExclusiveAccess, scsi.WriteExclusiveRegistrantsOnly,
	scsi.ExclusiveAccessRegistrantsOnly, scsi.WriteExclusiveAllRegistrants, scsi.ExclusiveAccessAllRegistrants,
}

// allowedCommands is the tables of SPC-5 5.14.1 and SBC-4 4.17, as far as they name commands of this unit. The columns
// say who sends the command, and under which reservation of another nexus:
//
//	1  anybody, write exclusive
//	2  anybody, exclusive access
//	3  a registered nexus, any type with registrants
//	4  one that is not registered, write exclusive with registrants
//	5  one that is not registered, exclusive access with registrants
//
// A: allowed, C: RESERVATION CONFLICT.
var allowedCommands = map[string]string{
	"TEST UNIT READY": "AAAAA", "REQUEST SENSE": "AAAAA", "INQUIRY": "AAAAA", "REPORT LUNS": "AAAAA",
	"LOG SENSE": "AAAAA", "READ CAPACITY(10)": "AAAAA", "READ CAPACITY(16)": "AAAAA",
	"REPORT TARGET PORT GROUPS":        "AAAAA",
	"PERSISTENT RESERVE IN, READ KEYS": "AAAAA", "PERSISTENT RESERVE IN, READ RESERVATION": "AAAAA",
	"PERSISTENT RESERVE IN, REPORT CAPABILITIES": "AAAAA", "PERSISTENT RESERVE IN, READ FULL STATUS": "AAAAA",

	"READ(6)": "ACAAC", "READ(10)": "ACAAC", "READ(12)": "ACAAC", "READ(16)": "ACAAC", "READ(32)": "ACAAC",
	"VERIFY(10)": "ACAAC", "VERIFY(12)": "ACAAC", "VERIFY(16)": "ACAAC",
	"PRE-FETCH(10)": "ACAAC", "PRE-FETCH(16)": "ACAAC", "GET LBA STATUS(16)": "ACAAC",
	"MODE SENSE(6)": "ACAAC", "MODE SENSE(10)": "ACAAC",
	"REPORT SUPPORTED OPERATION CODES":           "ACAAC",
	"REPORT SUPPORTED TASK MANAGEMENT FUNCTIONS": "ACAAC",

	"WRITE(6)": "CCACC", "WRITE(10)": "CCACC", "WRITE(12)": "CCACC", "WRITE(16)": "CCACC", "WRITE(32)": "CCACC",
	"WRITE SAME(10)": "CCACC", "WRITE SAME(16)": "CCACC", "UNMAP": "CCACC", "COMPARE AND WRITE": "CCACC",
	"ORWRITE(16)": "CCACC", "ORWRITE(32)": "CCACC", "SYNCHRONIZE CACHE(10)": "CCACC", "SYNCHRONIZE CACHE(16)": "CCACC",
	"WRITE AND VERIFY(10)": "CCACC", "WRITE AND VERIFY(12)": "CCACC", "WRITE AND VERIFY(16)": "CCACC",
	"MODE SELECT(6)": "CCACC", "MODE SELECT(10)": "CCACC", "LOG SELECT": "CCACC", "START STOP UNIT": "CCACC",
	"SET TARGET PORT GROUPS": "CCACC",

	// Where who is registered may use the unit, RESERVE and RELEASE of SPC-2 do nothing, and do it well.
	"RESERVE(6)": "CCACC", "RESERVE(10)": "CCACC", "RELEASE(6)": "CCACC", "RELEASE(10)": "CCACC",

	// Sent with the sender's key, or 0, in the order of the service actions; RESERVE asks for another type.
	"PERSISTENT RESERVE OUT, RESERVE":                          "CCCCC",
	"PERSISTENT RESERVE OUT, REGISTER AND MOVE":                "CCCCC",
	"PERSISTENT RESERVE OUT, REGISTER":                         "AAAAA",
	"PERSISTENT RESERVE OUT, REGISTER AND IGNORE EXISTING KEY": "AAAAA",

	// Also for who is registered under types without registrants: see TestReservationTable.
	"PERSISTENT RESERVE OUT, RELEASE":           "CCACC",
	"PERSISTENT RESERVE OUT, CLEAR":             "CCACC",
	"PERSISTENT RESERVE OUT, PREEMPT":           "CCACC",
	"PERSISTENT RESERVE OUT, PREEMPT AND ABORT": "CCACC",
}

// Which command of whom is carried out under which reservation: of the holder, of one that is registered, and of one
// that is not; also after the unit was made anew from what its store has kept.
func TestReservationTable(t *testing.T) {
	const holder, registered, stranger = 0, 1, 2
	for _, kind := range reservationTypes {
		t.Run(kind.String(), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "disk")
			s := newServer()
			u := must(lun.NewUnit(s.Processor(), lun.Config{Store: must(lun.OpenFile(path, lun.FileOptions{Size: testSize, BlockSize: testBlock})), Serial: "x"}))
			if err := s.Attach(0, u); err != nil {
				t.Fatal(err)
			}
			for again := range 2 {
				if again == 1 {
					must(s.Detach(0))
					if err := u.Close(t.Context()); err != nil {
						t.Fatal(err)
					}
					u = must(lun.NewUnit(s.Processor(), lun.Config{Store: must(lun.OpenFile(path, lun.FileOptions{BlockSize: testBlock})), Serial: "x"}))
					if err := s.Attach(0, u); err != nil {
						t.Fatal(err)
					}
				}
				x := [3]*initiator{named(t, s, 1), named(t, s, 2), named(t, s, 3)}
				if again == 0 {
					x[holder].persist(scsi.SARegister, 0, scsi.ReserveList{ServiceKey: 1, Persist: true}).good()
					x[registered].persist(scsi.SARegister, 0, scsi.ReserveList{ServiceKey: 2, Persist: true}).good()
					x[holder].persist(scsi.SAReserve, kind, scsi.ReserveList{Key: 1}).good()
				}
				key := uint64(1)
				if kind.AllHold() {
					key = 0
				}
				x[stranger].holds(kind, key, 1, 2)
				cdbs := map[string][]byte{}
				for name, cdb := range x[holder].commandCDBs() {
					cdbs[name] = cdb
				}
				for name, cdb := range cdbs {
					row, ok := allowedCommands[name]
					if !ok {
						t.Errorf("the table has no row of %s", name)
						continue
					}
					if scsi.Opcode(cdb[0]) == scsi.OpPersistReserveOut {
						continue
					}
					for who, x := range x {
						c := x.do(0, cdb, nil, 4096)
						if got, want := c.Status == scsi.StatusReservationConflict, shutOut(row, kind, who); got != want {
							t.Errorf("%s of initiator %d, restarted %d times: %v, conflict wanted: %t", name, who, again, c.Status, want)
						}
						if name == "START STOP UNIT" {
							x.do(0, []byte{cdb[0], 0, 0, 0, 1, 0}, nil, 0).good()
						}
						x.attentions(0)
					}
				}
				// Not by status alone: what is written is there, or is not.
				for who, x := range x {
					a := x.server
					reader := named(t, a, 1)
					before := reader.read(8, testBlock)
					data := pattern(uint64(10*again+who+1), testBlock)
					x.write(8, data)
					want := data
					if shutOut("CCACC", kind, who) {
						want = before
					}
					if !bytes.Equal(reader.read(8, testBlock), want) {
						t.Errorf("WRITE of initiator %d", who)
					}
				}
				x[stranger].holds(kind, key, 1, 2)
			}
			must(s.Detach(0))
			if err := u.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
		})
	}

	// PERSISTENT RESERVE OUT changes what is looked at: each on a unit of its own.
	for _, kind := range reservationTypes {
		for action := scsi.SARegister; action <= scsi.SARegisterMove; action++ {
			for who := holder; who <= stranger; who++ {
				s := newServer()
				u := must(lun.NewUnit(s.Processor(), lun.Config{Store: ram(testSize), Serial: "x"}))
				if err := s.Attach(0, u); err != nil {
					t.Fatal(err)
				}
				x := [3]*initiator{named(t, s, 1), named(t, s, 2), named(t, s, 3)}
				x[holder].register(1).good()
				x[registered].register(2).good()
				x[holder].persist(scsi.SAReserve, kind, scsi.ReserveList{Key: 1}).good()
				keys := [3]uint64{1, 2, 0}
				l := scsi.ReserveList{Key: keys[who], ServiceKey: 1}
				b := l.Append(nil)
				asked := kind
				switch action {
				case scsi.SAReserve:
					asked = reservationTypes[0]
					if kind == asked {
						asked = reservationTypes[1]
					}
				case scsi.SARegisterMove:
					b = (&scsi.MoveList{Key: keys[who], ServiceKey: 9, Relative: 1, Initiator: scsi.AppendSRPTransportID(nil, [16]byte{15: 9})}).Append(nil)
				}
				c := x[who].do(0, cdb(&scsi.ReserveOut{Action: action, Type: asked, ParameterListLength: uint32(len(b))}), b, 0)
				name := scsi.CommandName(c.CDB[:])
				want := shutOut(allowedCommands[name], kind, who)
				switch {
				case action == scsi.SAReserve, action == scsi.SARegisterMove && kind.AllHold():
					want = true
				case who == registered && allowedCommands[name] == "CCACC":
					want = false // a key is all that it takes
				case action == scsi.SARegisterMove:
					want = who != holder
				}
				if got := c.Status == scsi.StatusReservationConflict; got != want {
					t.Errorf("%v: %s of initiator %d: %v % x, conflict wanted: %t", kind, name, who, c.Status, c.Sense(), want)
				}
				must(s.Detach(0))
				if err := u.Close(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// shutOut looks a command up in its row of the table.
func shutOut(row string, kind scsi.ReservationType, who int) bool {
	column := 0
	switch {
	case who == 0 || who == 1 && kind.AllHold(): // it holds the reservation
		return false
	case kind == scsi.WriteExclusive:
	case kind == scsi.ExclusiveAccess:
		column = 1
	case who == 1:
		column = 2
	case kind.WritesOnly():
		column = 3
	default:
		column = 4
	}
	return row[column] == 'C'
}

// PREEMPT AND ABORT ends the tasks of those it preempts, and is answered when they move nothing any more (SPC-5
// 5.14.11.5).
func TestPreemptAndAbortWaits(t *testing.T) {
	s := newServer()
	gate := luntest.Pause(luntest.Count(ram(testSize)))
	attach(t, s, 0, lun.Config{Store: gate, Workers: 2})
	a, b := named(t, s, 1), named(t, s, 2)
	a.register(1).good()
	b.register(2).good()
	b.persist(scsi.SAReserve, scsi.WriteExclusive, scsi.ReserveList{Key: 2}).good()
	victim := b.command(0, cdb(&scsi.RW{Write: true, LBA: 1, Blocks: 1}), pattern(1, testBlock), 0)
	gate.Shut()
	if victim.prepare() != lun.Proceed {
		t.Fatal("not ready")
	}
	victim.fetch()
	victim.execute()
	<-gate.Arrived() // the store is at it
	list := (&scsi.ReserveList{Key: 1, ServiceKey: 2}).Append(nil)
	c := a.command(0, cdb(&scsi.ReserveOut{Action: scsi.SAPreemptAbort, Type: scsi.ExclusiveAccess, ParameterListLength: 24}), list, 0)
	c.prepare()
	c.fetch()
	if c.execute() != lun.Pending {
		t.Fatal("done at once")
	}
	s.Processor().RunUntilIdle()
	if c.ended != 0 || !victim.Aborted() {
		t.Fatalf("answered %d times while a write goes on; aborted: %t", c.ended, victim.Aborted())
	}
	gate.Open()
	a.wait(func() bool { return victim.ended > 0 })
	if c.ended != 0 {
		t.Error("answered before the write was released")
	}
	victim.release()
	a.wait(func() bool { return c.ended > 0 })
	c.release()
	c.good()
	if victim.Status != scsi.StatusTaskAborted {
		t.Errorf("the write ended with %v", victim.Status)
	}
	a.holds(scsi.ExclusiveAccess, 1, 1)
	b.ready(0).check(scsi.KeyUnitAttention, 0x2a05)
	b.ready(0).good()
	b.write(1, pattern(2, testBlock)).conflict()
}
