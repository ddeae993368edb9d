package lun_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"minisrp/scsi"
	"minisrp/scsi/lun"
)

// unwilling is a store that does not keep anything while it is told so.
type unwilling struct {
	*lun.File
	fails bool
}

func (s *unwilling) Keep(ctx context.Context, name string, b []byte) error {
	if s.fails {
		return errors.New("no")
	}
	return s.File.Keep(ctx, name, b)
}

// What cannot be kept is not done (SPC-5 5.14.5), and what needs not be kept is done all the same.
func TestReservationNotKept(t *testing.T) {
	s := newServer()
	store := &unwilling{File: file(t, testSize)}
	attach(t, s, 0, lun.Config{Store: store})
	a, b := named(t, s, 1), named(t, s, 2)
	a.persist(scsi.SARegister, 0, scsi.ReserveList{ServiceKey: 1, Persist: true}).good()
	store.fails = true
	a.persist(scsi.SAReserve, scsi.WriteExclusive, scsi.ReserveList{Key: 1}).check(scsi.KeyMediumError, scsi.ASCWriteError)
	b.register(2).check(scsi.KeyMediumError, scsi.ASCWriteError)
	b.holds(0, 0, 1)
	store.fails = false
	b.register(2).good() // with APTPL 0: forgotten with the power
	store.fails = true
	a.persist(scsi.SAReserve, scsi.WriteExclusive, scsi.ReserveList{Key: 1}).good()
	b.holds(scsi.WriteExclusive, 1, 1, 2)
	store.fails = false

	ram := newServer()
	attach(t, ram, 0, lun.Config{Store: must(lun.NewRAM(testSize, testBlock))})
	named(t, ram, 1).persist(scsi.SARegister, 0, scsi.ReserveList{ServiceKey: 1, Persist: true}).
		check(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInParameters)
}

// A unit is not made of reservations that cannot be understood: who had it to himself would not any more.
func TestReservationsDamaged(t *testing.T) {
	for _, kept := range []string{
		"{", `{"version":2}`, `{"version":1,"type":2}`, `{"version":1,"type":1,"holder":0}`, `{"version":1,"holder":-1}`,
		`{"version":1,"registrants":[{"initiator":"AAAA","relative":1,"key":"1"}]}`,
	} {
		path := filepath.Join(t.TempDir(), "disk")
		store := must(lun.OpenFile(path, lun.FileOptions{Size: testSize}))
		if err := os.WriteFile(path+".reservations", []byte(kept), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := lun.NewUnit(newServer().Processor(), lun.Config{Store: store, Serial: "x"}); !errors.Is(err, lun.ErrKept) {
			t.Errorf("%s: %v", kept, err)
		}
		if err := store.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// Several servers show one unit: its reservations are for the initiators of all of them, also of two target ports.
func TestReservationOfTwoServers(t *testing.T) {
	s := newServer()
	u := attach(t, s, 0, lun.Config{Store: ram(testSize)})
	o := lun.NewServerAt(s.Processor(), lun.Port{Relative: 2})
	if err := o.Attach(3, u); err != nil {
		t.Fatal(err)
	}
	defer func() { must(o.Detach(3)) }()
	a, b := named(t, s, 1), newInitiator(t, o)
	b.nexus.Initiator[15] = 1 // the same, at another port
	b.attentions(3)
	a.attentions(0)
	a.register(1).good()
	a.persist(scsi.SAReserve, scsi.ExclusiveAccess, scsi.ReserveList{Key: 1}).good()
	read := cdb(&scsi.RW{Blocks: 1})
	b.do(3, read, nil, testBlock).conflict()
	a.register(0).good()
	a.persist(scsi.SARegister, 0, scsi.ReserveList{ServiceKey: 1, AllPorts: true}).good()
	a.persist(scsi.SAReserve, scsi.ExclusiveAccess, scsi.ReserveList{Key: 1}).good()
	b.do(3, read, nil, testBlock).good()
}

// Commands that come while one is being kept wait for it, and one that is aborted meanwhile does nothing.
func TestReservationsOneAfterTheOther(t *testing.T) {
	s := newServer()
	attach(t, s, 0, lun.Config{Store: file(t, testSize)})
	a, b := named(t, s, 1), named(t, s, 2)
	begin := func(x *initiator, key uint64) *command {
		l := (&scsi.ReserveList{ServiceKey: key, Persist: true}).Append(nil)
		c := x.command(0, cdb(&scsi.ReserveOut{Action: scsi.SARegisterIgnore, ParameterListLength: 24}), l, 0)
		c.prepare()
		c.fetch()
		if c.execute() != lun.Pending {
			t.Error("done at once")
		}
		return c
	}
	all := []*command{begin(a, 1), begin(b, 2), begin(b, 3), begin(a, 4)}
	b.manage(lun.AbortTask, 0, all[2].Tag)
	for i, c := range all {
		c.x.wait(func() bool { return c.ended > 0 })
		c.release()
		if i != 2 {
			c.good()
		}
	}
	if !all[2].Quiet {
		t.Error("the one that was aborted is to be answered")
	}
	a.holds(0, 0, 4, 2)
}
