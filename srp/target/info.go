package target

import (
	"context"
	"slices"
	"time"

	"minisrp/srp"
	"minisrp/verbs"
	"minisrp/verbs/dispatch"
)

// Session is an initiator port that is logged in.
type Session struct {
	Initiator srp.PortID
	Group     string // that it belongs to; "" for the port's own
	Units     []UnitInfo
	Channels  []ChannelInfo
}

// From names where the channel came from, as the log does.
func (c *ChannelInfo) From() string { return peerText(c.Peer) }

// UnitInfo is a unit that an initiator sees.
type UnitInfo struct {
	LUN    int
	Serial string
}

// ChannelInfo is one channel of a session, and what it has done since its login.
type ChannelInfo struct {
	ID            uint64        // of the channel in the port
	Peer          verbs.Address // where it came from
	Age           time.Duration // since its login
	Credits       int           // requests that it may have outstanding: the request limit
	Outstanding   int           // that it has
	MaxIU         int           // bytes of an information unit, as asked for
	ImmediateData bool          // agreed on

	Commands, Functions, Responses uint64
	BytesIn, BytesOut              uint64 // of commands that ended with GOOD; as initiators call them: in is what was read
	ImmediateOut                   uint64 // bytes that came in the IU, whatever became of the command
	Quiet                          uint64 // commands that ended without a response, since they were aborted
	Malformed                      uint64 // commands refused for their descriptors
	WaitedForMemory                uint64 // commands
	WaitedForQueue                 uint64 // commands
	Asked                          uint64 // SRP_CRED_REQ and SRP_AER_REQ
	Unasked                        uint64 // answers to no such request
	Faults                         uint64 // requests that something went wrong with on purpose
}

// Sessions returns who is logged in, those first that have been for longest. Errors: ctx's.
func (p *Port) Sessions(ctx context.Context) ([]Session, error) {
	var all []Session
	var groups []*Group
	if err := p.proc.Call(ctx, func(f *dispatch.Frame) { all, groups = p.sessions(f.Now()) }); err != nil {
		return nil, err
	}
	slices.Reverse(all)
	slices.Reverse(groups)
	for i, g := range groups {
		s := &all[i]
		slices.Reverse(s.Channels)
		s.Group = g.Name()
		for n, u := range g.server.Units {
			s.Units = append(s.Units, UnitInfo{n, u.Config().Serial})
		}
	}
	return all, nil
}

func (p *Port) sessions(now time.Duration) (all []Session, groups []*Group) {
	for n := p.nexuses; n != nil; n = n.next {
		s := Session{Initiator: n.id}
		for c := n.channels; c != nil; c = c.inNext {
			if c.state >= chanUp && c.state < chanDisposing {
				s.Channels = append(s.Channels, c.info(now))
			}
		}
		if len(s.Channels) > 0 {
			all, groups = append(all, s), append(groups, n.group)
		}
	}
	return all, groups
}

func (c *channel) info(now time.Duration) ChannelInfo {
	st := &c.stats
	return ChannelInfo{
		ID: c.id, Peer: c.peer, Age: now - c.begun, Credits: int(c.limit), Outstanding: c.busy,
		MaxIU: int(c.login.MaxITIULen), ImmediateData: c.immediate > 0,
		Commands: st.commands, Functions: st.functions, Responses: st.responses,
		BytesIn: st.bytesIn, BytesOut: st.bytesOut, ImmediateOut: st.immediate,
		Quiet: st.quiet, Malformed: st.malformed, WaitedForMemory: st.waited, WaitedForQueue: st.parked,
		Asked: st.asked, Unasked: st.unasked, Faults: st.faults,
	}
}
