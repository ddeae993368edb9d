package lun

import (
	"context"
	"errors"

	"golang.org/x/sys/unix"

	"minisrp/scsi"
)

// work does what a task asks of the store, on a goroutine of the unit's worker, and returns sense data that say NO
// SENSE if it went well. Of the task it reads only what Prepare and the target have set.
func (u *Unit) work(ctx context.Context, t *Task) scsi.Sense {
	switch t.kind {
	case kindRead:
		if t.fua { // what is read must be what would be read after a loss of power
			if err := u.store.Flush(ctx); err != nil {
				return u.senseOf(err, scsi.ASCWriteError)
			}
		}
		return u.senseOf(u.store.Read(ctx, t.Data, t.off), scsi.ASCUnrecoveredRead)
	case kindWrite:
		return u.senseOf(u.store.Write(ctx, t.Data, t.off, t.fua), scsi.ASCWriteError)
	case kindFlush:
		return u.senseOf(u.store.Flush(ctx), scsi.ASCWriteError)
	case kindLBAStatus:
		return u.workLBAStatus(ctx, t)
	case kindSpace:
		return u.workSpace(ctx, t)
	case kindSetGroups:
		return u.workSetGroups(ctx, t)
	case kindStartStop:
		return u.workStartStop(ctx, t)
	case kindPreFetch:
		return u.workPreFetch(ctx, t)
	case kindUnmap:
		return u.workUnmap(ctx, t)
	case kindWriteSame:
		return u.workSame(ctx, t)
	case kindVerify, kindVerifyData, kindVerifySame:
		return u.workVerify(ctx, t)
	case kindWriteVerify:
		return u.workWriteVerify(ctx, t)
	case kindCompareWrite:
		return u.workCompareWrite(ctx, t)
	case kindOr:
		return u.workOr(ctx, t)
	case kindModeSelect:
		return u.workModeSelect(ctx, t)
	case kindReserveOut:
		return u.senseOf(u.reservation.keep(ctx), scsi.ASCWriteError)
	}
	return scsi.MakeSense(scsi.KeyHardwareError, scsi.ASCInternalTargetFailure)
}

// workUnmap checks the whole list before it gives anything back.
func (u *Unit) workUnmap(ctx context.Context, t *Task) scsi.Sense {
	list, err := scsi.ParseUnmapList(t.Data[0])
	if err != nil {
		return scsi.MakeSense(scsi.KeyIllegalRequest, scsi.ASCParameterListLength)
	}
	fc := u.facts.Load()
	if list.Len() > maxUnmapDescriptors {
		return badParameter(2)
	}
	var sum uint64
	for i := range list.Len() {
		e := list.At(i)
		if e.LBA > fc.blocks || uint64(e.Blocks) > fc.blocks-e.LBA {
			s := scsi.MakeSense(scsi.KeyIllegalRequest, scsi.ASCLBAOutOfRange)
			s.InformationValid, s.Information = true, e.LBA
			return s
		}
		if sum += uint64(e.Blocks) << fc.shift; sum > maxUnmapBytes {
			return badParameter(8 + 16*i + 8)
		}
	}
	for i := range list.Len() {
		e := list.At(i)
		if e.Blocks == 0 {
			continue
		}
		if err := u.store.Unmap(ctx, e.LBA<<fc.shift, uint64(e.Blocks)<<fc.shift); err != nil {
			return u.senseOf(err, scsi.ASCWriteError)
		}
	}
	return u.last(ctx, t)
}

// workSame writes a block over and over; zeros go by a shorter way.
func (u *Unit) workSame(ctx context.Context, t *Task) scsi.Sense {
	var err error
	if t.noData || isZeros(t.Data[0]) {
		err = u.store.Zero(ctx, t.off, t.length, t.hole)
	} else {
		err = fill(ctx, u.store, t.Data[0], t.off, t.length)
	}
	if err != nil {
		return u.senseOf(err, scsi.ASCWriteError)
	}
	return u.last(ctx, t)
}

// last makes what a task has changed last, if the task is to go through to the medium.
func (u *Unit) last(ctx context.Context, t *Task) scsi.Sense {
	if !t.fua {
		return scsi.Sense{}
	}
	return u.senseOf(u.store.Flush(ctx), scsi.ASCWriteError)
}

func isZeros(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// badParameter refuses the parameter list for the byte given.
func badParameter(at int) scsi.Sense { return badParameterBit(at, -1) }

// badParameterBit does so for the field whose most significant bit is given.
func badParameterBit(at int, bit int8) scsi.Sense {
	s := scsi.MakeSense(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInParameters)
	s.SetField(scsi.FieldPointer{Data: true, Byte: uint16(at), Bit: bit})
	return s
}

// senseOf translates a store's error: the one place where that is done. medium is the code of a failure that means
// nothing in particular.
func (u *Unit) senseOf(err error, medium scsi.ASC) scsi.Sense {
	switch {
	case err == nil:
		return scsi.Sense{}
	case errors.Is(err, ErrLost): // whatever it was that failed then
		u.lost.Store(true)
		return scsi.MakeSense(scsi.KeyMediumError, scsi.ASCWriteError)
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		return scsi.MakeSense(scsi.KeyDataProtect, scsi.ASCSpaceAllocation)
	case errors.Is(err, unix.EROFS):
		return scsi.MakeSense(scsi.KeyDataProtect, scsi.ASCWriteProtected)
	}
	return scsi.MakeSense(scsi.KeyMediumError, medium)
}
