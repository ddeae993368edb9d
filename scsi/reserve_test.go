package scsi_test

import (
	"bytes"
	"errors"
	"testing"

	"minisrp/scsi"
)

// encoded is a command's CDB.
func encoded(c interface{ Put(*scsi.CDB) int }) []byte {
	var b scsi.CDB
	n := c.Put(&b)
	return b[:n]
}

// The example layouts are written out by hand from SPC-5 6.16 and 6.17.
func TestReserveLayouts(t *testing.T) {
	port := [16]byte{0: 0xa0, 15: 0xaf}
	id := append([]byte{4, 0, 0, 0, 0, 0, 0, 0}, port[:]...)
	for name, x := range map[string]struct{ got, want []byte }{
		"list": {
			(&scsi.ReserveList{Key: 0x0102, ServiceKey: 0x0304, AllPorts: true, Persist: true, Specified: true, Initiators: id}).Append(nil),
			append([]byte{0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 3, 4, 0, 0, 0, 0, 0x0d, 0, 0, 0, 0, 0, 0, 24}, id...),
		},
		"move": {
			(&scsi.MoveList{Key: 1, ServiceKey: 2, Unregister: true, Persist: true, Relative: 0x0506, Initiator: id}).Append(nil),
			append([]byte{0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 3, 5, 6, 0, 0, 0, 24}, id...),
		},
		"full status": {
			(&scsi.FullStatus{Key: 9, AllPorts: true, Holder: true, Type: scsi.ExclusiveAccess, Relative: 1, Initiator: port}).Append(nil),
			append([]byte{0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 3, 3, 0, 0, 0, 0, 0, 1, 0, 0, 0, 24}, id...),
		},
		"capabilities": {
			(&scsi.ReserveCapabilities{Compatible: true, Specified: true, AllPorts: true, PersistCan: true, PersistIs: true, AllowCommands: 3, Types: scsi.AllReservationTypes}).Append(nil),
			[]byte{0, 8, 0x1d, 0xb1, 0xea, 0x01, 0, 0},
		},
		"reservation": {
			(&scsi.Reservation{Key: 7, Type: scsi.WriteExclusiveAllRegistrants}).Append(scsi.AppendReserveHeader(nil, 5, 16)),
			[]byte{0, 0, 0, 5, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 7, 0, 0},
		},
		"in":  {encoded(&scsi.ReserveIn{Action: scsi.SAReadFullStatus, AllocationLength: 0x0102}), []byte{0x5e, 3, 0, 0, 0, 0, 0, 1, 2, 0}},
		"out": {encoded(&scsi.ReserveOut{Action: scsi.SAPreemptAbort, Type: 8, ParameterListLength: 24}), []byte{0x5f, 5, 8, 0, 0, 0, 0, 0, 24, 0}},
	} {
		if !bytes.Equal(x.got, x.want) {
			t.Errorf("%s:\n got % x\nwant % x", name, x.got, x.want)
		}
	}
	s, rest, err := scsi.NextFullStatus((&scsi.FullStatus{Key: 9, Holder: true, Initiator: port}).Append(nil))
	if err != nil || len(rest) != 0 || s.Key != 9 || s.Initiator != port || !s.Holder {
		t.Errorf("full status decoded as %+v, %v", s, err)
	}
}

// What is cut, or longer than it says, is not taken for a parameter list.
func TestReserveListLengths(t *testing.T) {
	whole := (&scsi.ReserveList{Specified: true, Initiators: scsi.AppendSRPTransportID(nil, [16]byte{1})}).Append(nil)
	for n := range whole {
		if _, err := scsi.ParseReserveList(whole[:n]); !errors.Is(err, scsi.ErrShort) {
			t.Errorf("%d of %d bytes: %v", n, len(whole), err)
		}
	}
	if _, err := scsi.ParseReserveList(append(whole, 0)); !errors.Is(err, scsi.ErrFormat) {
		t.Errorf("a byte more: %v", err)
	}
}

func FuzzReserveList(f *testing.F) {
	id := scsi.AppendSRPTransportID(nil, [16]byte{1})
	f.Add((&scsi.ReserveList{Key: 1, Specified: true, Initiators: id}).Append(nil))
	f.Add((&scsi.MoveList{Key: 1, Relative: 1, Initiator: id}).Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		if l, err := scsi.ParseReserveList(b); err == nil {
			again, err := scsi.ParseReserveList(l.Append(nil))
			if err != nil || !bytes.Equal(again.Initiators, l.Initiators) || again.Key != l.Key || again.ServiceKey != l.ServiceKey ||
				again.AllPorts != l.AllPorts || again.Persist != l.Persist || again.Specified != l.Specified {
				t.Errorf("%+v came back as %+v, %v", l, again, err)
			}
			for rest := l.Initiators; len(rest) > 0; {
				port, next, err := scsi.NextTransportID(rest)
				if err != nil {
					break
				}
				if back, _, _ := scsi.NextTransportID(scsi.AppendSRPTransportID(nil, port)); back != port {
					t.Errorf("TransportID of % x came back as % x", port, back)
				}
				rest = next
			}
		}
		if l, err := scsi.ParseMoveList(b); err == nil {
			again, err := scsi.ParseMoveList(l.Append(nil))
			if err != nil || !bytes.Equal(again.Initiator, l.Initiator) || again.Relative != l.Relative || again.Unregister != l.Unregister {
				t.Errorf("%+v came back as %+v, %v", l, again, err)
			}
		}
		for rest := b; len(rest) > 0; {
			_, next, err := scsi.NextFullStatus(rest)
			if err != nil {
				break
			}
			rest = next
		}
		_, body, _, _ := scsi.ParseReserveHeader(b)
		_, _ = scsi.ParseReservation(body)
		_, _ = scsi.ParseReserveCapabilities(b)
		scsi.ParseKeys(body, func(uint64) bool { return true })
	})
}
