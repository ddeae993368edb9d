package target

import (
	"minisrp/verbs"
	"minisrp/verbs/dispatch"
)

// move is an RDMA transfer between a command's memory and its descriptors, as far as its work requests have been made.
type move struct {
	op    verbs.Opcode // Read, or Write with the response behind it
	total uint32       // bytes
	moved uint32
	desc  int    // descriptor that is next
	off   uint32 // bytes of it that are done
}

// begun starts k.move, behind those that wait for room in the send queue.
func (k *command) begun(f *dispatch.Frame) {
	if k.c.parked.head != nil {
		k.park()
		return
	}
	k.pump(f)
}

func (k *command) park() {
	k.c.stats.parked++
	k.c.parked.push(k)
}

// pump makes work requests as long as there is room. It reports false if there was too little: the command then waits
// in parked.
func (k *command) pump(f *dispatch.Frame) bool {
	c, m := k.c, &k.move
	made := false
	for m.moved < m.total {
		if c.space() == 0 {
			if made {
				k.signal(wrPart)
			}
			k.park()
			return false
		}
		if !k.piece(f) {
			c.violated(f) // fewer bytes than the descriptors' total length, which was checked
			return true
		}
		made = true
	}
	if m.op == verbs.Read {
		kind := wrFetched
		if k.state == cmdReading {
			kind = wrTable
		}
		k.signal(kind)
		return true
	}
	room := 1
	if k.faulty {
		if k.x.Ghost > 0 && !k.function {
			return k.vanish(f, made)
		}
		if k.x.Duplicate {
			room = 2
		}
	}
	if c.space() < room {
		if made {
			k.signal(wrPart)
		}
		k.park()
		return false
	}
	k.sendResponse(f)
	return true
}

// piece makes the next work request: as much as is in one piece at both ends.
func (k *command) piece(f *dispatch.Frame) bool {
	m := &k.move
	for m.desc < k.descs.Len() {
		d := k.descs.At(m.desc)
		if m.off == d.Len {
			m.desc, m.off = m.desc+1, 0
			continue
		}
		addr, lkey, room := k.local(m.moved)
		n := min(d.Len-m.off, m.total-m.moved, room)
		wr := verbs.WR{ID: wrMove | uint64(k.index), Op: m.op, RemoteAddr: d.Addr + uint64(m.off), Key: d.RKey, NumSGE: 1}
		wr.SGE[0] = verbs.SGE{Addr: addr, Length: n, LKey: lkey}
		k.c.send(f, &wr)
		m.moved += n
		m.off += n
		return true
	}
	return false
}

// signal asks for a completion of the last work request, which is this command's.
func (k *command) signal(kind uint64) {
	wr := &k.c.sends[len(k.c.sends)-1]
	wr.ID, wr.Flags = kind|uint64(k.index), wr.Flags|verbs.Signaled
	k.mark = k.c.posted
}

// local returns where byte off of the data, or of the table, is in the target's memory, and how much follows in one
// piece.
func (k *command) local(off uint32) (addr uint64, lkey, room uint32) {
	c, t := k.c, &k.task
	if t.Mapped && k.state != cmdReading {
		s := &c.group.slots[t.Slot]
		return s.mr.Addr() + t.Window + uint64(off), s.mr.LKey(), k.move.total - off
	}
	size := uint32(k.cells.size)
	i, at := int(off/size), off%size
	if k.tableLen > 0 && k.state != cmdReading {
		i++ // behind the table
	}
	return k.addr(i) + uint64(at), c.port.mr.LKey(), size - at
}
