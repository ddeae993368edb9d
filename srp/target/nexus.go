package target

import (
	"minisrp/scsi/lun"
	"minisrp/srp"
	"minisrp/verbs/dispatch"
)

// nexus is an initiator port that is logged in: its channels, and what the units have to tell it.
//
// Ownership: the port's processor. It exists as long as it has a channel, or a login that waits.
type nexus struct {
	next     *nexus
	id       srp.PortID
	group    *Group    // what it sees; that of its first channel
	scsi     lun.Nexus // at the group's server
	channels *channel  // that serve it or are about to
	count    int

	// A login for a single channel ends the others first: it waits until their last task has ended, so that nothing
	// that was sent before the login has an effect after it.
	waiting *channel
}

// nexus returns the initiator port's, and makes it if need be.
func (p *Port) nexus(id srp.PortID, g *Group) *nexus {
	if n := p.known(id); n != nil {
		return n
	}
	n := &nexus{id: id, group: g, next: p.nexuses, scsi: lun.Nexus{Initiator: id}}
	p.nexuses = n
	return n
}

// known returns the initiator port's nexus, or nil.
func (p *Port) known(id srp.PortID) *nexus {
	for n := p.nexuses; n != nil; n = n.next {
		if n.id == id {
			return n
		}
	}
	return nil
}

func (n *nexus) add(c *channel) {
	c.inNext, n.channels = n.channels, c
	n.count++
}

func (n *nexus) remove(c *channel) {
	for at := &n.channels; *at != nil; at = &(*at).inNext {
		if *at == c {
			*at, c.inNext = c.inNext, nil
			n.count--
			return
		}
	}
}

// drop forgets a nexus without channels.
func (p *Port) drop(f *dispatch.Frame, n *nexus) {
	if n.channels != nil || n.waiting != nil {
		return
	}
	n.group.server.NexusLost(f, &n.scsi)
	for at := &p.nexuses; *at != nil; at = &(*at).next {
		if *at == n {
			*at = n.next
			return
		}
	}
}
