package fault_test

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"minisrp/scsi"
	"minisrp/srp"
	"minisrp/srp/target/fault"
	"minisrp/verbs"
	"minisrp/verbs/dispatch"
)

var (
	me    = fault.Origin{Initiator: srp.IOClassR16a.PortID(1, 2), Peer: verbs.Address{Src: netip.MustParseAddrPort("192.0.2.1:4"), Dst: netip.MustParseAddrPort("192.0.2.2:5")}}
	other = fault.Origin{Initiator: srp.IOClassR16a.PortID(1, 3), Peer: verbs.Address{DGID: verbs.GID{15: 9}, ServiceID: 1}}
)

// command is a command with an operation code at LUN n.
func command(o fault.Origin, op scsi.Opcode, n uint8) *fault.Request {
	return &fault.Request{Origin: o, Command: &srp.Command{LUN: scsi.PeripheralLUN(n).Bytes(), CDB: append([]byte{byte(op)}, make([]byte, 15)...)}}
}

func function(o fault.Origin, fn srp.TaskFunction, n uint8) *fault.Request {
	return &fault.Request{Origin: o, Function: &srp.TaskManagement{LUN: scsi.PeripheralLUN(n).Bytes(), Function: fn}}
}

func rules(t testing.TB, text string) *fault.Rules {
	t.Helper()
	rs, err := fault.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return rs
}

func show(l fault.Layer, r *fault.Request) (x fault.Effect) {
	var f dispatch.Frame
	l.Request(&f, r, &x)
	return x
}

// Each kind has its effect on a request.
func TestEffects(t *testing.T) {
	did := func(as ...fault.Action) (x fault.Effect) {
		for _, a := range as {
			x.Do(a)
		}
		return x
	}
	for text, want := range map[string]fault.Effect{
		"":                            {},
		"late=5ms":                    {Late: 5 * time.Millisecond},
		"delay=1m30s":                 {Delay: 90 * time.Second},
		"delay=5ms;late=1s;delay=1ms": {Delay: 6 * time.Millisecond, Late: time.Second},
		"ghost=2s":                    {Ghost: 2 * time.Second},
		"late=2s,stubborn":            {Late: 2 * time.Second, Stubborn: true},
		"lose":                        {Lose: true},
		"lose,leak":                   {Lose: true, Leak: true},
		"duplicate":                   {Duplicate: true},
		"status=busy":                 {Status: scsi.StatusBusy},
		"status=0x28":                 {Status: scsi.StatusTaskSetFull},
		"sense=3/1100":                {Status: scsi.StatusCheckCondition, Key: scsi.KeyMediumError, ASC: 0x1100},
		"residual=512":                {Residual: 512, HasResidual: true},
		"residual=-1":                 {Residual: -1, HasResidual: true},
		"residual=0":                  {HasResidual: true},
		"cred-req=-3":                 did(fault.Action{Kind: fault.CreditRequest, Credits: -3}),
		"withhold=3":                  did(fault.Action{Kind: fault.Withhold, Credits: 3}),
		"aer=3f0e":                    did(fault.Action{Kind: fault.AsyncEvent, ASC: 0x3f0e}),
		"aer=2a09@300":                did(fault.Action{Kind: fault.AsyncEvent, ASC: 0x2a09, LUN: scsi.FlatLUN(300)}),
		"logout=4":                    did(fault.Action{Kind: fault.Logout, Reason: srp.LogoutMultiChannel}),
		"disconnect":                  did(fault.Action{Kind: fault.Disconnect}),
		"cred-req=8; disconnect":      did(fault.Action{Kind: fault.CreditRequest, Credits: 8}, fault.Action{Kind: fault.Disconnect}),
		"reject=0x00010003; credits=1; delay=1s,op=login":        {},
		"disconnect;disconnect;disconnect;disconnect;disconnect": did(make4()...),
	} {
		if got := show(rules(t, text), command(me, scsi.OpRead10, 0)); got != want {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
}

// make4 is as many actions as one request can have.
func make4() []fault.Action {
	return slices.Repeat([]fault.Action{{Kind: fault.Disconnect}}, 4)
}

// Each kind has its effect on a login, and those about requests have none.
func TestLoginEffects(t *testing.T) {
	for text, want := range map[string]fault.LoginEffect{
		"reject=0x00010003":             {Reject: srp.RejectUnableAssociate},
		"cm-reject=3":                   {CM: verbs.RejectNoResources},
		"stale":                         {CM: verbs.RejectStale},
		"redirect":                      {CM: verbs.RejectPortRedirect},
		"credits=1; max-iu=64":          {Credits: 1, MaxIU: 64},
		"iu-limit=580":                  {IULimit: 580},
		"delay=5s,op=login":             {Delay: 5 * time.Second},
		"delay=5s;lose;disconnect":      {},
		"stale,from=192.0.2.0/24":       {CM: verbs.RejectStale},
		"stale,from=0000:0000:0:3":      {},
		"stale,skip=1;redirect,times=1": {CM: verbs.RejectPortRedirect},
	} {
		var x fault.LoginEffect
		var f dispatch.Frame
		rules(t, text).Login(&f, &fault.Login{Origin: me, Request: &srp.LoginReq{}}, &x)
		if x != want {
			t.Errorf("%s: %+v, want %+v", text, x, want)
		}
	}
}

// The conditions say which requests.
func TestConditions(t *testing.T) {
	all := []*fault.Request{
		0:  command(me, scsi.OpRead10, 0),
		1:  command(me, scsi.OpRead16, 1),
		2:  command(me, scsi.OpWrite10, 0),
		3:  command(other, scsi.OpWrite16, 0),
		4:  command(me, scsi.OpSynchronizeCache, 0),
		5:  command(me, scsi.OpUnmap, 0),
		6:  command(me, scsi.OpInquiry, 0),
		7:  function(me, srp.AbortTask, 0),
		8:  function(other, srp.LogicalUnitReset, 1),
		9:  function(me, srp.ClearACA, 0),
		10: {Origin: me, Command: &srp.Command{}}, // which did not decode
	}
	for text, want := range map[string][]int{
		"lose":                        {0, 1, 2, 3, 4, 5, 6},
		"lose,op=any,lun=1":           {1},
		"lose,op=read":                {0, 1},
		"lose,op=write":               {2, 3},
		"lose,op=flush":               {4},
		"lose,op=unmap":               {5},
		"lose,op=0x12":                {6},
		"lose,op=tmf":                 {7, 8, 9},
		"lose,op=abort":               {7},
		"lose,op=reset":               {8},
		"lose,op=tmf,lun=1":           {8},
		"lose,from=*":                 {0, 1, 2, 3, 4, 5, 6},
		"lose,from=0:0:0:9":           {3}, // the GUID of its GID
		"lose,op=tmf,from=192.0.2.1":  {7, 9},
		"lose,skip=5":                 {5, 6},
		"lose,every=3":                {2, 5},
		"lose,skip=1,every=2":         {2, 4, 6},
		"lose,skip=1,every=2,times=2": {2, 4},
		"lose,op=write,skip=1":        {3},
	} {
		rs := rules(t, text)
		var got []int
		for i, r := range all {
			if show(rs, r).Lose {
				got = append(got, i)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
		if hits := rs.Hits(); len(hits) != 1 || hits[0] != uint64(len(want)) {
			t.Errorf("%s: hits %v", text, hits)
		}
	}
}

// Chance is as likely as it says, the same again with the same seed, and another with another.
func TestChance(t *testing.T) {
	draw := func(text string) (s string) {
		rs := rules(t, text)
		for range 4000 {
			s += map[bool]string{true: "1", false: "0"}[show(rs, command(me, scsi.OpRead10, 0)).Lose]
		}
		return s
	}
	ones := func(s string) (n int) {
		for _, c := range s {
			n += int(c - '0')
		}
		return n
	}
	a := draw("seed=3;lose,p=0.25")
	if n := ones(a); n < 900 || n > 1100 {
		t.Errorf("%d of 4000 with a probability of 1/4", n)
	}
	if a != draw("seed=3;lose,p=0.25") {
		t.Error("another sequence with the same seed")
	}
	if a == draw("lose,p=0.25") || a == draw("seed=3;delay=1s;lose,p=0.25") {
		t.Error("the same sequence with another seed or place")
	}
	if n := ones(draw("lose,p=1")); n != 4000 {
		t.Errorf("%d of 4000 with a probability of 1", n)
	}
	if n := ones(draw("lose,p=0.5,every=2")); n < 900 || n > 1100 {
		t.Errorf("%d of 4000 with a probability of 1/2, every second", n)
	}
}

// A stack shows each layer everything, in order.
func TestStack(t *testing.T) {
	s := fault.Stack{rules(t, "residual=1; delay=1s; credits=3"), rules(t, "residual=2; delay=1s; credits=4,skip=1")}
	x := show(s, command(me, scsi.OpRead10, 0))
	if x.Residual != 2 || x.Delay != 2*time.Second {
		t.Errorf("%+v", x)
	}
	var f dispatch.Frame
	var l fault.LoginEffect
	s.Login(&f, &fault.Login{Origin: me, Request: &srp.LoginReq{}}, &l)
	if l.Credits != 3 {
		t.Errorf("%+v", l)
	}
}

func TestNoAllocation(t *testing.T) {
	rs := rules(t, "delay=1s,p=0.5; lose,op=write,every=2; aer=3f0e,from=192.0.2.0/24; residual=1,lun=0; cred-req=1,op=tmf")
	r, m := command(me, scsi.OpRead10, 0), function(me, srp.AbortTask, 0)
	var f dispatch.Frame
	var x fault.Effect
	var l fault.Layer = fault.Stack{rs}
	if n := testing.AllocsPerRun(100, func() {
		x = fault.Effect{}
		l.Request(&f, r, &x)
		l.Request(&f, m, &x)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// Every tenth read is late, and one login in the beginning is refused.
func ExampleParse() {
	rs, err := fault.Parse("delay=50ms,op=read,every=10; reject=0x00010001,times=1")
	if err != nil {
		panic(err)
	}
	var f dispatch.Frame
	var read srp.Command
	read.CDB = []byte{byte(scsi.OpRead10)}
	for i := range 20 {
		var x fault.Effect
		rs.Request(&f, &fault.Request{Command: &read}, &x)
		if x.Delay > 0 {
			fmt.Println(i, x.Delay)
		}
	}
	fmt.Println(rs, rs.Hits())
	// Output:
	// 9 50ms
	// 19 50ms
	// delay=50ms,op=read,every=10; reject=0x00010001,times=1 [2 0]
}
