package soft

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"

	"minisrp/verbs"
	"minisrp/verbs/dispatch"
)

// Fabric is what HCAs of one process are plugged into.
//
// Ownership: made by New; holds no goroutine and needs no Close.
type Fabric struct {
	// Fixed after construction.
	tap   Tap
	fault Fault

	mu        dispatch.Mutex[dispatch.RankFabric] // guards the maps; taken at Passive only
	hcas      map[verbs.GID]*HCA
	listeners map[service]*listener
	qps       map[uint32]*qp // by number, over all HCAs
	serial    uint64         // of the last QP
}

// service is what a listener is found by.
type service struct {
	gid verbs.GID
	id  uint64
}

// rdmaService is the service ID of an RDMA CM port (RDMA_PS_TCP, annex A11).
func rdmaService(port uint16) uint64 { return 0x0106<<16 | uint64(port) }

// Config says how to make a fabric.
type Config struct {
	Tap   Tap   // sees every message; nil for none
	Fault Fault // may stall copies; nil for none
}

// New makes a fabric without HCAs.
func New(c Config) *Fabric {
	return &Fabric{
		tap: c.Tap, fault: c.Fault,
		hcas: map[verbs.GID]*HCA{}, listeners: map[service]*listener{}, qps: map[uint32]*qp{},
	}
}

// HCA is one software HCA. It implements verbs.Driver.
type HCA struct {
	fabric *Fabric
	attr   verbs.DeviceAttr
	gid    verbs.GID
	addr   netip.Addr
	keys   keyTable
	up     *verbs.Device
	proc   *dispatch.Processor
}

// HCAConfig describes an HCA.
type HCAConfig struct {
	Name string     // unique in the fabric
	GUID verbs.GUID // unique in the fabric
	Addr netip.Addr // for the RDMA CM; its GID is this address, IPv4 as IPv4-mapped
	// NoMemoryWindows makes a device that has none, as many real ones.
	NoMemoryWindows bool
	// CompletionVectors is 1 or more; 0 means 1.
	CompletionVectors int
}

// GIDOf returns the GID of an address: itself, or the IPv4-mapped form.
func GIDOf(a netip.Addr) verbs.GID { return verbs.GID(a.As16()) }

// Plug makes an HCA. Open it with verbs.Open. Errors: verbs.ErrInvalid,
// verbs.ErrInUse.
func (fb *Fabric) Plug(c HCAConfig) (*HCA, error) {
	if !c.Addr.IsValid() {
		return nil, fmt.Errorf("soft HCA %s: %w: no address", c.Name, verbs.ErrInvalid)
	}
	gid := GIDOf(c.Addr)
	h := &HCA{fabric: fb, gid: gid, addr: c.Addr.Unmap()}
	h.keys.entries.Store(new([]*key))
	h.attr = verbs.DeviceAttr{
		Name: c.Name, NodeGUID: c.GUID,
		Ports: []verbs.PortAttr{{Active: true, GIDs: []verbs.GID{gid}, PKeys: []uint16{0xffff}, MTU: mtu}},
		MaxQP: maxQP, MaxCQ: maxCQ, MaxMR: maxKey, MaxMW: maxKey, MaxPD: maxKey,
		MaxWR: maxWR, MaxSGE: verbs.MaxSGE, MaxCQE: maxCQE, MaxMRSize: maxMRSize,
		MaxReadAtomic: readAtomic, CompletionVectors: max(1, c.CompletionVectors),
		MemoryWindows: !c.NoMemoryWindows,
	}
	fb.mu.Lock()
	defer fb.mu.Unlock()
	if other := fb.hcas[gid]; other != nil {
		return nil, fmt.Errorf("soft HCA %s: %w: %s is %s's", c.Name, verbs.ErrInUse, c.Addr, other.attr.Name)
	}
	fb.hcas[gid] = h
	return h, nil
}

// Attr returns the limits.
func (h *HCA) Attr() verbs.DeviceAttr { return h.attr }

// Start is called by verbs.Open.
func (h *HCA) Start(d *verbs.Device) { h.up, h.proc = d, d.Processor() }

// Close unplugs the HCA.
func (h *HCA) Close(ctx context.Context) {
	h.fabric.mu.Lock()
	defer h.fabric.mu.Unlock()
	delete(h.fabric.hcas, h.gid)
}

// pd is a protection domain: an identity.
type pd struct{ dev *HCA }

// CreatePD makes a domain.
func (h *HCA) CreatePD(ctx context.Context) (verbs.PDDriver, error) { return &pd{dev: h}, nil }

func (d *pd) Destroy(ctx context.Context) {}

// CreateQP makes a queue pair with an unguessable number.
func (d *pd) CreateQP(ctx context.Context, attr *verbs.QPAttr, up *verbs.QP) (verbs.QPDriver, uint32, error) {
	q := &qp{up: up, dev: d.dev, pd: d, attr: *attr, proc: attr.SendCQ.Processor()}
	var send, recv bool
	q.sendCQ, send = verbs.Find[*cq](attr.SendCQ.Driver())
	q.recvCQ, recv = verbs.Find[*cq](attr.RecvCQ.Driver())
	if !send || !recv {
		return nil, 0, verbs.ErrInvalid
	}
	q.sq = make([]sqEntry, pow2(attr.MaxSend))
	q.rq = make([]verbs.RecvWR, pow2(attr.MaxRecv))
	q.sqMask, q.rqMask = uint32(len(q.sq)-1), uint32(len(q.rq)-1)
	q.home.Init(q.proc, q.runHome)
	q.hangup.Init(q.proc, q.runHangup)
	q.timer.Init(q.proc, q.connectTimeout)
	if !d.dev.fabric.number(q) {
		return nil, 0, verbs.ErrNoResources
	}
	return q, q.num, nil
}

func pow2(n uint32) uint32 {
	p := uint32(1)
	for p < n {
		p <<= 1
	}
	return p
}

// number gives q a number that no other QP of the fabric has, not 0 or 1.
func (fb *Fabric) number(q *qp) bool {
	fb.mu.Lock()
	defer fb.mu.Unlock()
	if len(fb.qps) >= maxQP {
		return false
	}
	for {
		n := rand.Uint32() & 0xffffff
		if n > 1 && n != 0xffffff && fb.qps[n] == nil {
			fb.serial++
			q.num, q.serial, q.rxPSN = n, fb.serial, rand.Uint32()&0xffffff
			fb.qps[n] = q
			return true
		}
	}
}

func (h *HCA) forget(q *qp) {
	h.fabric.mu.Lock()
	defer h.fabric.mu.Unlock()
	delete(h.fabric.qps, q.num)
}

// Resume lets copies that the fault layer has stalled go on.
//
//level:passive
func (fb *Fabric) Resume() {
	fb.mu.Lock()
	defer fb.mu.Unlock()
	for _, q := range fb.qps {
		if q.attached.Load() {
			q.away.Post()
		}
	}
}
