package srp

import (
	"errors"
	"fmt"
	"math"

	"minisrp/verbs"
)

// ask is what a login asks for. After a reject it asks for less.
type ask struct {
	iuLen      int // bytes, without immediate data
	maxIU      int // cap, 0 is none
	additional int // bytes of CDB above 16
	immediate  int // bytes of immediate data; 0 does not ask
	formats    BufferFormats
	recvLen    int // bytes of a receive
	stale      int // retries so far
}

// iuLens are the lengths that are tried when a target refuses a longer one: what COMSTAR targets take, what ESXi asks
// for, Linux without immediate data, and the shortest of all.
var iuLens = [...]int{960, 580, 276, minIULen}

// firstAsk asks for everything that the configuration wants, as Linux does: room for a command with the descriptors
// and 16 bytes of additional CDB, or with immediate data.
func firstAsk(cfg *SessionConfig) ask {
	a := ask{
		iuLen: CommandLen + 16 + indirectLen + cfg.DescriptorsInIU*DescLen, maxIU: cfg.MaxIUSize, additional: cfg.MaxCDB - CDBLen,
		immediate: cfg.ImmediateData, formats: BufferDirect | BufferIndirect,
	}
	if a.maxIU != 0 {
		a.iuLen = min(a.iuLen, a.maxIU)
		if a.immediate > 0 && a.maxIU <= immediateOffset {
			a.immediate = 0
		}
	}
	if a.recvLen = cfg.ReceiveLen; a.recvLen == 0 {
		a.recvLen = max(minRecvLen, a.asked())
	}
	return a
}

// asked is the REQUESTED MAXIMUM INITIATOR TO TARGET IU LENGTH.
func (a *ask) asked() int {
	n := a.iuLen
	if a.immediate > 0 {
		n = max(n, immediateOffset+a.immediate)
	}
	if a.maxIU != 0 {
		n = min(n, a.maxIU)
	}
	return n
}

// headLen is how much of an IU lies in the send buffer: all but immediate data.
func (a *ask) headLen() int { return max(a.iuLen, immediateOffset) }

func (a *ask) request(cfg *SessionConfig, multi bool) LoginReq {
	r := LoginReq{
		MaxITIULen: uint32(a.asked()), BufferFormats: a.formats, Flags: LoginSingleChannel,
		Initiator: cfg.Initiator, Target: cfg.Target,
	}
	if multi {
		r.Flags = LoginMultiChannel
	}
	if a.immediate > 0 {
		r.Flags |= LoginImmediateWanted
		r.ImmediateOffset = immediateOffset
	}
	return r
}

// longRecvError says that the target may send IUs longer than the receives that were posted.
type longRecvError struct{ length int }

func (e *longRecvError) Error() string {
	return fmt.Sprintf("%v: IUs from the target may have %d bytes, receives were for less", ErrLoginResponse, e.length)
}

func (e *longRecvError) Unwrap() error { return ErrLoginResponse }

// agree holds the target's response against what was asked for, and takes the smaller of both.
func (a *ask) agree(cfg *SessionConfig, r *LoginRsp) (agreed, error) {
	bad := func(field string, got int64, want string) (agreed, error) {
		return agreed{}, fmt.Errorf("%w: %s is %d, must be %s", ErrLoginResponse, field, got, want)
	}
	g := agreed{
		iuLen: int(min(r.MaxITIULen, uint32(a.asked()))), recvLen: int(r.MaxTIIULen), formats: r.BufferFormats & a.formats,
		initial: r.RequestLimitDelta, transfer: math.MaxUint32,
	}
	switch {
	case r.MaxITIULen < minIULen:
		return bad("maximum initiator to target IU length", int64(r.MaxITIULen), fmt.Sprintf("at least %d", minIULen))
	case r.MaxTIIULen < ResponseLen || r.MaxTIIULen > maxTIIULen:
		return bad("maximum target to initiator IU length", int64(r.MaxTIIULen), fmt.Sprintf("%d to %d", ResponseLen, maxTIIULen))
	case r.RequestLimitDelta < 1:
		return bad("request limit", int64(r.RequestLimitDelta), "at least 1")
	case g.formats&BufferDirect == 0:
		return bad("supported buffer formats", int64(r.BufferFormats), "direct among them (0x0002)")
	case g.recvLen > a.recvLen:
		return agreed{}, &longRecvError{g.recvLen}
	}
	g.recvLen = a.recvLen
	if a.immediate > 0 && r.Flags&ImmediateSupported != 0 {
		g.immediate = max(0, min(a.immediate, g.iuLen-immediateOffset))
	}
	if g.formats&BufferIndirect != 0 {
		head := min(g.iuLen, a.headLen())
		g.inline = max(0, min(cfg.DescriptorsInIU, (head-CommandLen-a.additional-indirectLen)/DescLen))
	}
	g.segments = max(1, min(cfg.MaxSegments, g.inline))
	if cfg.AllowExternalTable && g.formats&BufferIndirect != 0 && g.iuLen >= CommandLen+a.additional+indirectLen {
		g.segments = cfg.MaxSegments
	}
	if cfg.Protect == ProtectBounce {
		g.segments, g.transfer = cfg.MaxSegments, uint32(cfg.BounceSize)
	}
	return g, nil
}

// less changes what is asked for after an attempt that failed with err, and reports whether another makes sense.
func (a *ask) less(err error) bool {
	var long *longRecvError
	var reject *RejectError
	switch {
	case errors.As(err, &long) && long.length > a.recvLen:
		a.recvLen = long.length
		return true
	case !errors.As(err, &reject):
		return false
	case reject.CM == verbs.RejectStale:
		a.stale++
		return a.stale <= staleRetries
	case reject.Reason == RejectIUTooLarge && a.immediate > 0:
		a.immediate = 0
		return true
	case reject.Reason == RejectIUTooLarge:
		for _, n := range iuLens {
			if n < a.asked() {
				a.iuLen = n
				return true
			}
		}
	case reject.Reason == RejectUnsupportedFormat && a.formats&BufferIndirect != 0:
		a.formats = BufferDirect
		return true
	}
	return false
}

// rejected makes a RejectError of the connection manager's.
func rejected(err error, cfg *SessionConfig, channel int, req *LoginReq) error {
	var cm *verbs.RejectError
	if !errors.As(err, &cm) {
		return fmt.Errorf("srp: login to %s at %s: %w", cfg.Target, cfg.Address, err)
	}
	e := &RejectError{Address: cfg.Address, Target: cfg.Target, Channel: channel, CM: cm.Reason, asked: *req}
	var rej LoginRej
	if cm.Reason == verbs.RejectConsumer && rej.Decode(cm.Private) == nil {
		e.Reason, e.Formats = rej.Reason, rej.BufferFormats
	}
	return e
}
