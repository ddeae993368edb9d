package lun_test

import (
	"testing"

	"minisrp/scsi"
	"minisrp/scsi/lun"
	"minisrp/verbs/dispatch"
)

// reservationEffects look at what reservations do, over two nexuses; what the unit outlives is in TestReservationTable.
func reservationEffects() map[string]func(t *testing.T, u *effectUnit) {
	we, ea := scsi.WriteExclusive, scsi.ExclusiveAccess
	ro, ar := scsi.WriteExclusiveRegistrantsOnly, scsi.ExclusiveAccessAllRegistrants
	// two gives initiators that are registered with keys 1 and 2.
	two := func(t *testing.T, u *effectUnit) (a, b *initiator) {
		a, b = named(t, u.server, 1), named(t, u.server, 2)
		a.persist(scsi.SARegister, 0, scsi.ReserveList{ServiceKey: 1}).good()
		b.register(2).good()
		return a, b
	}
	data := func(seed uint64) []byte { return pattern(seed, testBlock) }
	legacy := func(reserve, release scsi.Opcode) func(t *testing.T, u *effectUnit) {
		return func(t *testing.T, u *effectUnit) {
			a, b := named(t, u.server, 1), named(t, u.server, 2)
			held, free := make([]byte, 10), make([]byte, 10)
			held[0], free[0] = byte(reserve), byte(release)
			a.do(0, held, nil, 0).good()
			b.write(0, data(1)).conflict()
			b.ready(0).conflict()
			b.do(0, held, nil, 0).conflict()
			a.do(0, cdb(&scsi.ReserveIn{AllocationLength: 8}), nil, 8).conflict()
			b.do(0, free, nil, 0).good() // not its own: nothing happens
			b.write(0, data(1)).conflict()
			a.write(0, data(2)).good()
			a.expect(0, data(2))
			a.do(0, free, nil, 0).good()
			b.write(0, data(3)).good()
			a.expect(0, data(3))
			for _, end := range []func(){
				func() { a.at(func(f *dispatch.Frame) { a.server.NexusLost(f, &a.nexus) }) },
				func() { b.manage(lun.LogicalUnitReset, 0, 0) },
			} {
				a.do(0, held, nil, 0).good()
				b.write(0, data(4)).conflict()
				end()
				a.attentions(0)
				b.attentions(0)
				b.write(0, data(4)).good()
			}
			// With registrations it harms nobody (SPC-5 5.14.3).
			a.register(1).good()
			a.do(0, held, nil, 0).conflict()
			a.persist(scsi.SAReserve, we, scsi.ReserveList{Key: 1}).good()
			a.do(0, held, nil, 0).good()
			a.do(0, free, nil, 0).good()
			a.holds(we, 1, 1)
			b.do(0, free, nil, 0).conflict()
		}
	}
	return map[string]func(t *testing.T, u *effectUnit){
		"RESERVE(6)":  legacy(scsi.OpReserve6, scsi.OpRelease6),
		"RELEASE(6)":  legacy(scsi.OpReserve6, scsi.OpRelease6),
		"RESERVE(10)": legacy(scsi.OpReserve10, scsi.OpRelease10),
		"RELEASE(10)": legacy(scsi.OpReserve10, scsi.OpRelease10),
		"PERSISTENT RESERVE IN, READ KEYS": func(t *testing.T, u *effectUnit) {
			a, _ := two(t, u)
			if g, _ := a.keys(); g != 2 {
				t.Errorf("generation %d", g)
			}
			if got := a.do(0, cdb(&scsi.ReserveIn{AllocationLength: 12}), nil, 12).good().got; len(got) != 12 || got[7] != 16 {
				t.Errorf("cut: % x", got)
			}
		},
		"PERSISTENT RESERVE IN, READ RESERVATION": func(t *testing.T, u *effectUnit) {
			a, b := two(t, u)
			a.holds(0, 0, 1, 2)
			b.persist(scsi.SAReserve, ar, scsi.ReserveList{Key: 2}).good()
			a.holds(ar, 0, 1, 2)
		},
		"PERSISTENT RESERVE IN, REPORT CAPABILITIES": func(t *testing.T, u *effectUnit) {
			c := must(scsi.ParseReserveCapabilities(named(t, u.server, 1).inquire(scsi.SAReportCapabilities)))
			if c.Types != scsi.AllReservationTypes || !c.Compatible || !c.Specified || !c.AllPorts || c.PersistIs {
				t.Errorf("%+v", c)
			}
		},
		"PERSISTENT RESERVE IN, READ FULL STATUS": func(t *testing.T, u *effectUnit) {
			a, b := two(t, u)
			b.persist(scsi.SAReserve, ro, scsi.ReserveList{Key: 2}).good()
			_, body, _, _ := scsi.ParseReserveHeader(a.inquire(scsi.SAReadFullStatus))
			for id := byte(1); id <= 2; id++ {
				d, rest, err := scsi.NextFullStatus(body)
				want := scsi.FullStatus{Key: uint64(id), Relative: 1, Initiator: [16]byte{15: id}}
				if id == 2 {
					want.Holder, want.Type = true, ro
				}
				if err != nil || d != want {
					t.Errorf("%+v, %v; want %+v", d, err, want)
				}
				body = rest
			}
		},
		"PERSISTENT RESERVE OUT, REGISTER": func(t *testing.T, u *effectUnit) {
			a, b := two(t, u)
			b.persist(scsi.SARegister, 0, scsi.ReserveList{Key: 9, ServiceKey: 3}).conflict()
			b.persist(scsi.SARegister, 0, scsi.ReserveList{Key: 2, ServiceKey: 3}).good()
			a.holds(0, 0, 1, 3)
			a.persist(scsi.SAReserve, ro, scsi.ReserveList{Key: 1}).good()
			a.persist(scsi.SARegister, 0, scsi.ReserveList{Key: 1}).good() // the holder goes
			b.ready(0).check(scsi.KeyUnitAttention, 0x2a04)
			b.holds(0, 0, 3)
			a.persist(scsi.SARegister, 0, scsi.ReserveList{ServiceKey: 5, Specified: true, AllPorts: true, Initiators: scsi.AppendSRPTransportID(nil, [16]byte{15: 7})}).good()
			a.holds(0, 0, 3, 5, 5)
			a.persist(scsi.SARegister, 0, scsi.ReserveList{Key: 5, ServiceKey: 5, Specified: true}).check(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInParameters)
			named(t, u.server, 7).persist(scsi.SAReserve, ea, scsi.ReserveList{Key: 5}).good() // who was named is registered
			a.write(0, data(1)).conflict()
		},
		"PERSISTENT RESERVE OUT, REGISTER AND IGNORE EXISTING KEY": func(t *testing.T, u *effectUnit) {
			a, b := two(t, u)
			b.register(7).good()
			a.holds(0, 0, 1, 7)
			b.register(0).good()
			a.holds(0, 0, 1)
		},
		"PERSISTENT RESERVE OUT, RESERVE": func(t *testing.T, u *effectUnit) {
			a, b := two(t, u)
			a.persist(scsi.SAReserve, we, scsi.ReserveList{Key: 9}).conflict()
			a.persist(scsi.SAReserve, 2, scsi.ReserveList{Key: 1}).check(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB)
			a.persist(scsi.SAReserve, we, scsi.ReserveList{Key: 1}).good()
			a.persist(scsi.SAReserve, we, scsi.ReserveList{Key: 1}).good()
			a.persist(scsi.SAReserve, ea, scsi.ReserveList{Key: 1}).conflict()
			a.write(0, data(1)).good()
			b.write(0, data(2)).conflict()
			b.expect(0, data(1))
			b.manage(lun.LogicalUnitReset, 0, 0) // ends no persistent reservation
			a.attentions(0)
			b.attentions(0)
			b.write(0, data(2)).conflict()
		},
		"PERSISTENT RESERVE OUT, RELEASE": func(t *testing.T, u *effectUnit) {
			a, b := two(t, u)
			a.persist(scsi.SAReserve, ro, scsi.ReserveList{Key: 1}).good()
			b.persist(scsi.SARelease, ro, scsi.ReserveList{Key: 2}).good()
			a.persist(scsi.SARelease, we, scsi.ReserveList{Key: 1}).check(scsi.KeyIllegalRequest, 0x2604)
			a.holds(ro, 1, 1, 2)
			a.persist(scsi.SARelease, ro, scsi.ReserveList{Key: 1}).good()
			b.ready(0).check(scsi.KeyUnitAttention, 0x2a04)
			a.ready(0).good()
			a.holds(0, 0, 1, 2)
			named(t, u.server, 3).write(0, data(4)).good()
			a.expect(0, data(4))
		},
		"PERSISTENT RESERVE OUT, CLEAR": func(t *testing.T, u *effectUnit) {
			a, b := two(t, u)
			a.persist(scsi.SAReserve, we, scsi.ReserveList{Key: 1}).good()
			b.persist(scsi.SAClear, 0, scsi.ReserveList{Key: 2}).good()
			a.ready(0).check(scsi.KeyUnitAttention, 0x2a03)
			b.ready(0).good()
			b.holds(0, 0)
			b.write(0, data(5)).good()
			a.expect(0, data(5))
		},
		"PERSISTENT RESERVE OUT, PREEMPT": func(t *testing.T, u *effectUnit) {
			a, b := two(t, u)
			c := named(t, u.server, 3)
			c.register(3).good()
			a.persist(scsi.SAReserve, ro, scsi.ReserveList{Key: 1}).good()
			b.persist(scsi.SAPreempt, ro, scsi.ReserveList{Key: 2, ServiceKey: 9}).conflict()
			b.persist(scsi.SAPreempt, ro, scsi.ReserveList{Key: 2}).check(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInParameters)
			b.persist(scsi.SAPreempt, ea, scsi.ReserveList{Key: 2, ServiceKey: 1}).good()
			a.ready(0).check(scsi.KeyUnitAttention, 0x2a05)
			c.ready(0).check(scsi.KeyUnitAttention, 0x2a04) // its type has changed
			b.ready(0).good()
			b.holds(ea, 2, 2, 3)
			a.write(0, data(6)).conflict()
			b.persist(scsi.SAPreempt, ea, scsi.ReserveList{Key: 2, ServiceKey: 3}).good() // a registration alone
			c.ready(0).check(scsi.KeyUnitAttention, 0x2a05)
			b.holds(ea, 2, 2)
			a.register(1).good()
			b.persist(scsi.SARelease, ea, scsi.ReserveList{Key: 2}).good()
			b.persist(scsi.SAReserve, ar, scsi.ReserveList{Key: 2}).good()
			a.persist(scsi.SAPreempt, we, scsi.ReserveList{Key: 1}).good() // all others of all
			b.ready(0).check(scsi.KeyUnitAttention, 0x2a05)
			a.holds(we, 1, 1)
		},
		"PERSISTENT RESERVE OUT, PREEMPT AND ABORT": func(t *testing.T, u *effectUnit) {
			a, b := two(t, u)
			a.persist(scsi.SAReserve, we, scsi.ReserveList{Key: 1}).good()
			victim := a.command(0, cdb(&scsi.RW{Write: true, Blocks: 1}), data(7), 0)
			victim.prepare()
			c := b.command(0, cdb(&scsi.ReserveOut{Action: scsi.SAPreemptAbort, Type: we, ParameterListLength: 24}),
				(&scsi.ReserveList{Key: 2, ServiceKey: 1}).Append(nil), 0)
			c.prepare()
			c.fetch()
			c.execute()
			b.wait(victim.Aborted)
			if victim.execute(); victim.Status != scsi.StatusTaskAborted {
				t.Errorf("the write ended with %v", victim.Status)
			}
			victim.release()
			b.wait(func() bool { return c.ended > 0 })
			c.release()
			c.good()
			b.holds(we, 2, 2)
		},
		"PERSISTENT RESERVE OUT, REGISTER AND MOVE": func(t *testing.T, u *effectUnit) {
			a, b := two(t, u)
			a.persist(scsi.SAReserve, we, scsi.ReserveList{Key: 1}).good()
			move := func(x *initiator, l scsi.MoveList) *command {
				p := l.Append(nil)
				return x.do(0, cdb(&scsi.ReserveOut{Action: scsi.SARegisterMove, ParameterListLength: uint32(len(p))}), p, 0)
			}
			id := func(n byte) []byte { return scsi.AppendSRPTransportID(nil, [16]byte{15: n}) }
			move(b, scsi.MoveList{Key: 2, ServiceKey: 3, Relative: 1, Initiator: id(3)}).conflict()
			move(a, scsi.MoveList{Key: 1, ServiceKey: 3, Relative: 1, Initiator: id(1)}).check(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInParameters)
			move(a, scsi.MoveList{Key: 1, ServiceKey: 3, Relative: 1, Unregister: true, Initiator: id(3)}).good()
			b.holds(we, 3, 2, 3)
			a.write(0, data(8)).conflict()
			c := named(t, u.server, 3)
			c.write(0, data(9)).good()
			b.expect(0, data(9))
		},
	}
}
