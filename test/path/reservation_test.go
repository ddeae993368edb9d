package path

import (
	"errors"
	"net/netip"
	"path/filepath"
	"slices"
	"testing"

	"minisrp/miniport"
	"minisrp/scsi"
	"minisrp/scsi/disk"
	"minisrp/scsi/lun"
	"minisrp/srp"
	"minisrp/test/rig"
)

// asks sends commands of a host to its first unit, as often as unit attentions come in between.
func asks(t *testing.T, h *rig.Host, cdb interface{ Put(*scsi.CDB) int }, out []byte, in int) ([]byte, scsi.Status) {
	t.Helper()
	region, free, err := h.Memory(t.Context(), 4096)
	if err != nil {
		t.Fatal(err)
	}
	defer free()
	for range 5 {
		s := &miniport.SRB{Direction: miniport.DataIn, Length: uint32(in)}
		if len(out) > 0 {
			s.Direction, s.Length = miniport.DataOut, uint32(len(out))
			copy(region.Bytes(), out)
		}
		s.Data = []miniport.Segment{{Region: region, Length: s.Length}}
		s.CDBLength = uint8(cdb.Put(&s.CDB))
		_ = h.Port.Units()[0].Exec(t.Context(), s) // which says the same as SCSIStatus
		if s.SCSIStatus == scsi.StatusCheckCondition {
			if sense, err := scsi.ParseSense(s.Sense()); err == nil && sense.Key == scsi.KeyUnitAttention {
				continue
			}
		}
		return slices.Clone(region.Bytes()[:min(s.Transferred, 4096)]), s.SCSIStatus
	}
	t.Fatal("nothing but unit attentions")
	return nil, 0
}

func persist(t *testing.T, h *rig.Host, action uint16, kind scsi.ReservationType, l scsi.ReserveList) {
	t.Helper()
	b := l.Append(nil)
	if _, st := asks(t, h, &scsi.ReserveOut{Action: action, Type: kind, ParameterListLength: uint32(len(b))}, b, 0); st != scsi.StatusGood {
		t.Fatalf("PERSISTENT RESERVE OUT %d: %v", action, st)
	}
}

// What one host reserves shuts another out, also after the target was made anew, until that one takes it over. The
// registrations name the hosts' initiator ports.
func TestReservationOfTwoHosts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "disk")
	var other = srp.IOClassR16a.PortID(0, 0x0002c90300000003)
	for again := range 2 {
		store, err := lun.OpenFile(path, lun.FileOptions{Size: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		r, err := rig.New(t.Context(), rig.Config{Stores: []lun.Store{store}})
		if err != nil {
			t.Fatal(err)
		}
		func() {
			defer closeRig(t, r)
			h, err := r.Join(t.Context(), rig.HostConfig{Addr: netip.MustParseAddr("192.0.2.21"), GUID: 3, Initiator: other})
			if err != nil {
				t.Fatal(err)
			}
			if again == 0 {
				persist(t, r.Host, scsi.SARegister, 0, scsi.ReserveList{ServiceKey: 1, Persist: true})
				persist(t, h, scsi.SARegister, 0, scsi.ReserveList{ServiceKey: 2, Persist: true})
				persist(t, r.Host, scsi.SAReserve, scsi.WriteExclusive, scsi.ReserveList{Key: 1})
			}
			data, _ := asks(t, h, &scsi.ReserveIn{Action: scsi.SAReadFullStatus, AllocationLength: 1024}, nil, 1024)
			_, rest, _, err := scsi.ParseReserveHeader(data)
			for i, id := range []srp.PortID{rig.InitiatorID, other} {
				var d scsi.FullStatus
				if d, rest, err = scsi.NextFullStatus(rest); err != nil || d.Initiator != id || d.Key != uint64(i+1) || d.Holder != (i == 0) {
					t.Fatalf("restarted %d times: %+v, %v", again, d, err)
				}
			}
			if _, err := on(t, r.Host, disk.Write, 0, byte(0x10+again)); err != nil {
				t.Errorf("the holder: %v", err)
			}
			if _, err := on(t, h, disk.Write, 0, 0xff); !errors.Is(err, disk.ErrReserved) {
				t.Errorf("the other: %v, want %v", err, disk.ErrReserved)
			}
			if got, err := on(t, h, disk.Read, 0, 0); err != nil || got[0] != byte(0x10+again) || got[4095] != byte(0x10+again) {
				t.Errorf("the other reads %x…, %v", got[:4], err)
			}
			if again == 0 {
				return
			}
			persist(t, h, scsi.SAPreemptAbort, scsi.ExclusiveAccess, scsi.ReserveList{Key: 2, ServiceKey: 1})
			if _, err := on(t, h, disk.Write, 0, 0x33); err != nil {
				t.Errorf("who has taken it: %v", err)
			}
			if _, err := on(t, r.Host, disk.Read, 0, 0); !errors.Is(err, disk.ErrReserved) {
				t.Errorf("who has lost it reads: %v", err)
			}
			persist(t, h, scsi.SAClear, 0, scsi.ReserveList{Key: 2})
			if got, err := on(t, r.Host, disk.Read, 0, 0); err != nil || got[0] != 0x33 {
				t.Errorf("once it is free: %x…, %v", got[:4], err)
			}
		}()
	}
}
