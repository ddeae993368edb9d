package lun

import (
	"context"
	"encoding/json"
	"fmt"

	"minisrp/scsi"
)

// keptReservations is the name under which a store keeps what is to outlive a loss of power (APTPL).
const keptReservations = "reservations"

// keptHoldings is how that is written.
type keptHoldings struct {
	Version     int              `json:"version"`
	Type        uint8            `json:"type"` // 0: no reservation
	Holder      int              `json:"holder"`
	Registrants []keptRegistrant `json:"registrants"`
}

type keptRegistrant struct {
	Initiator []byte `json:"initiator"`
	Relative  uint16 `json:"relative"`
	AllPorts  bool   `json:"all_ports,omitempty"`
	Key       uint64 `json:"key,string"`
}

const keptVersion = 1

// keeps says whether the store must hear of the change before it is done.
func (r *reservation) keeps() bool { return r.next.persist || r.now.persist }

// keep writes the state that is to be.
func (r *reservation) keep(ctx context.Context) error {
	h := &r.next
	if !h.persist {
		return r.keeper.Keep(ctx, keptReservations, nil)
	}
	k := keptHoldings{Version: keptVersion, Type: uint8(h.kind), Holder: h.holder}
	for i := range h.list[:h.count] {
		g := &h.list[i]
		k.Registrants = append(k.Registrants, keptRegistrant{g.initiator[:], g.relative, g.everywhere, g.key})
	}
	b, err := json.Marshal(&k)
	if err != nil {
		return err
	}
	return r.keeper.Keep(ctx, keptReservations, b)
}

// restore reads what was kept. The generation begins anew (SPC-5 6.16.2). Errors: ErrKept, the store's.
//
//level:passive
func (r *reservation) restore() error {
	if r.keeper == nil {
		return nil
	}
	b, err := r.keeper.Kept(context.Background(), keptReservations)
	if err != nil || len(b) == 0 {
		return err
	}
	var k keptHoldings
	if err := json.Unmarshal(b, &k); err != nil {
		return fmt.Errorf("reservations that were kept: %v: %w", err, ErrKept)
	}
	h := holdings{kind: scsi.ReservationType(k.Type), holder: k.Holder, persist: true}
	switch {
	case k.Version != keptVersion:
		return fmt.Errorf("reservations that were kept: version %d, want %d: %w", k.Version, keptVersion, ErrKept)
	case h.kind != 0 && !h.kind.Valid(), len(k.Registrants) > maxRegistrants, h.holder < 0,
		h.kind != 0 && h.holder >= len(k.Registrants):
		return fmt.Errorf("reservations that were kept: type %d, holder %d of %d registrants: %w",
			k.Type, k.Holder, len(k.Registrants), ErrKept)
	}
	for _, g := range k.Registrants {
		x := registrant{relative: g.Relative, everywhere: g.AllPorts, key: g.Key}
		if copy(x.initiator[:], g.Initiator) != len(g.Initiator) || len(g.Initiator) != len(x.initiator) || g.Key == 0 || h.find(&x) >= 0 {
			return fmt.Errorf("reservations that were kept: initiator % x with key %#x: %w", g.Initiator, g.Key, ErrKept)
		}
		h.add(x)
	}
	r.tables = new(tables)
	r.now = h
	return nil
}
