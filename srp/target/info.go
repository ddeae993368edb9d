package target

import (
	"context"

	"minisrp/srp"
	"minisrp/verbs"
	"minisrp/verbs/dispatch"
)

// Session is an initiator port that is logged in.
type Session struct {
	Initiator srp.PortID
	Channels  []ChannelInfo
}

// ChannelInfo is one channel of a session, and what it has done since its login.
type ChannelInfo struct {
	ID            uint64        // of the channel in the port
	Peer          verbs.Address // where it came from
	Credits       int           // requests that it may have outstanding
	Outstanding   int           // that it has
	ImmediateData bool          // agreed on

	Commands, Functions, Responses uint64
	BytesIn, BytesOut              uint64 // as initiators call them: in is what was read
	ImmediateOut                   uint64 // bytes of BytesOut that came in the IU
	Quiet                          uint64 // commands that ended without a response, since they were aborted
	Malformed                      uint64 // commands refused for their descriptors
	WaitedForMemory                uint64 // commands
	WaitedForQueue                 uint64 // commands
}

// Sessions returns who is logged in. Errors: ctx's.
func (p *Port) Sessions(ctx context.Context) ([]Session, error) {
	var all []Session
	if err := p.proc.Call(ctx, func(*dispatch.Frame) { all = p.sessions() }); err != nil {
		return nil, err
	}
	return all, nil
}

func (p *Port) sessions() (all []Session) {
	for n := p.nexuses; n != nil; n = n.next {
		s := Session{Initiator: n.id}
		for c := n.channels; c != nil; c = c.inNext {
			if c.state >= chanUp && c.state < chanDisposing {
				s.Channels = append(s.Channels, c.info())
			}
		}
		if len(s.Channels) > 0 {
			all = append(all, s)
		}
	}
	return all
}

func (c *channel) info() ChannelInfo {
	st := &c.stats
	return ChannelInfo{
		ID: c.id, Peer: c.peer, Credits: c.port.cfg.Credits, Outstanding: c.busy, ImmediateData: c.immediate > 0,
		Commands: st.commands, Functions: st.functions, Responses: st.responses,
		BytesIn: st.bytesIn, BytesOut: st.bytesOut + st.immediate, ImmediateOut: st.immediate,
		Quiet: st.quiet, Malformed: st.malformed, WaitedForMemory: st.waited, WaitedForQueue: st.parked,
	}
}
