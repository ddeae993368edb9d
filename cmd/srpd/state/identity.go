package state

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

// Hex64 is a 64-bit identifier; in JSON, 16 hexadecimal digits.
type Hex64 uint64

func (h Hex64) String() string { return fmt.Sprintf("%016x", uint64(h)) }

// MarshalText returns the digits.
func (h Hex64) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads the digits.
func (h *Hex64) UnmarshalText(b []byte) error {
	var v [8]byte
	if n, err := hex.Decode(v[:], b); err != nil || n != len(v) {
		return fmt.Errorf("%q is not an identifier of 16 hexadecimal digits", b)
	}
	*h = Hex64(binary.BigEndian.Uint64(v[:]))
	return nil
}

// Identity is who the daemon is, for good.
type Identity struct {
	InitiatorExt  Hex64 `json:"initiator_ext"`  // of the initiator port ID
	InitiatorGUID Hex64 `json:"initiator_guid"` // of the software HCA that it is on
	TargetExt     Hex64 `json:"target_ext"`     // id_ext of the embedded target
	TargetGUID    Hex64 `json:"target_guid"`    // its ioc_guid, and the GUID of its HCA
}

// Identity returns who the daemon is; the first time it is made up. Errors: *DatabaseError, ErrClosed.
func (s *Store) Identity(ctx context.Context) (Identity, error) {
	var id Identity
	err := s.change(ctx, func() error {
		ok, err := s.get("identity", &id)
		if err != nil || ok {
			return err
		}
		id = Identity{InitiatorExt: random(), InitiatorGUID: guid(), TargetExt: random(), TargetGUID: guid()}
		return s.set(record{"identity", id})
	})
	return id, err
}

// UnitSerial returns the serial number of the embedded target's unit n, from 0; the first time it is made up.
// Errors: *DatabaseError, ErrClosed.
func (s *Store) UnitSerial(ctx context.Context, n int) (string, error) {
	var serial string
	err := s.change(ctx, func() error {
		if n < 0 || n >= maxUnits {
			return fmt.Errorf("unit %d: want 0 to %d", n, maxUnits-1)
		}
		key := fmt.Sprintf("unit/%03d", n)
		ok, err := s.get(key, &serial)
		if err != nil || ok {
			return err
		}
		serial = random().String()
		return s.set(record{key, serial})
	})
	return serial, err
}

// Embedded is who an embedded target is that has a name.
type Embedded struct {
	Ext  Hex64 // id_ext
	GUID Hex64 // ioc_guid, and the GUID of its HCA
	name string
}

// Embedded returns who the embedded target of a name is: made of the name and of who the daemon is, so it stays while
// both do.
func (i Identity) Embedded(name string) Embedded {
	return Embedded{
		Ext:  derived("ext", i.TargetExt, name, 0),
		GUID: derived("guid", i.TargetExt, name, 0)&^(1<<56) | 2<<56,
		name: name,
	}
}

// Serial returns the serial number of unit n, from 0.
func (e Embedded) Serial(n int) string { return derived("serial", e.Ext, e.name, n).String() }

func derived(what string, of Hex64, name string, n int) Hex64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %v %q %d", what, of, name, n))
	return Hex64(binary.BigEndian.Uint64(sum[:]))
}

func random() Hex64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return Hex64(binary.BigEndian.Uint64(b[:]))
}

// guid makes a GUID up, as that of Embedded is too: an EUI-64 that is administered locally and names one device (IEEE 802, bits 1 and 0 of the
// first byte).
func guid() Hex64 { return random()&^(1<<56) | 2<<56 }
