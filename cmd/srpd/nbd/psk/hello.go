package psk

import "slices"

// clientHello is what of a ClientHello there is to go by (RFC 8446, 4.1.2). The slices
// are pieces of the message.
type clientHello struct {
	random, session []byte
	suites          []uint16
	versions        []uint16
	groups          []uint16
	modes           []byte
	shares          []keyShare
	early           bool // it wants to send data at once

	identities [][]byte
	binders    [][]byte // as many; they are about all that is before them
}

type keyShare struct {
	group uint16
	key   []byte
}

// Extensions.
const (
	extGroups       = 10
	extPreSharedKey = 41
	extEarlyData    = 42
	extVersions     = 43
	extModes        = 45
	extKeyShare     = 51
)

const (
	suiteAES128GCM = 0x1301
	version13      = 0x0304
	modeDHE        = 1
)

// parseHello decodes a ClientHello, header included. An error is a decode_error or an
// illegal_parameter.
func parseHello(msg []byte) (*clientHello, error) {
	h := &clientHello{}
	c := cursor{msg, true}
	c.take(messageHeader)
	c.u16() // legacy_version, which says nothing
	h.random = c.take(randomSize)
	h.session = c.take(int(c.u8()))
	suites := cursor{c.take(int(c.u16())), true}
	compression := c.take(int(c.u8()))
	extensions := cursor{c.take(int(c.u16())), true}
	h.suites = suites.all16()
	switch {
	case !c.end() || !suites.ok || len(h.suites) == 0:
		return nil, wrong(alertDecodeError, "lengths within the ClientHello do not agree")
	case len(h.session) > maxSession:
		return nil, wrong(alertDecodeError, "session id of %d bytes", len(h.session))
	case len(compression) != 1 || compression[0] != 0:
		return nil, wrong(alertIllegalParameter, "ClientHello offers compression")
	}
	var seen []uint16
	for len(extensions.b) > 0 {
		id := extensions.u16()
		e := cursor{extensions.take(int(extensions.u16())), true}
		switch {
		case !extensions.ok:
			return nil, wrong(alertDecodeError, "lengths within the ClientHello do not agree")
		case slices.Contains(seen, id):
			return nil, wrong(alertIllegalParameter, "extension %d is there twice", id)
		case len(seen) > 0 && seen[len(seen)-1] == extPreSharedKey:
			return nil, wrong(alertIllegalParameter, "extension %d is behind pre_shared_key", id)
		}
		seen = append(seen, id)
		if !h.extension(id, &e) {
			return nil, wrong(alertDecodeError, "lengths within extension %d do not agree", id)
		}
	}
	return h, nil
}

const (
	messageHeader = 4 // of a handshake message: type, length
	randomSize    = 32
	maxSession    = 32
)

// extension decodes one.
func (h *clientHello) extension(id uint16, e *cursor) bool {
	switch id {
	case extGroups:
		list := cursor{e.take(int(e.u16())), true}
		h.groups = list.all16()
		return list.ok && len(h.groups) > 0 && e.end()
	case extVersions:
		list := cursor{e.take(int(e.u8())), true}
		h.versions = list.all16()
		return list.ok && len(h.versions) > 0 && e.end()
	case extModes:
		h.modes = e.take(int(e.u8()))
		return len(h.modes) > 0 && e.end()
	case extEarlyData:
		h.early = true
		return e.end()
	case extKeyShare:
		list := cursor{e.take(int(e.u16())), true}
		h.shares = []keyShare{}
		for len(list.b) > 0 {
			s := keyShare{group: list.u16(), key: list.take(int(list.u16()))}
			if len(s.key) == 0 {
				return false
			}
			h.shares = append(h.shares, s)
		}
		return list.ok && e.end()
	case extPreSharedKey:
		return h.preSharedKey(e)
	}
	return true
}

// preSharedKey decodes the extension of this name.
func (h *clientHello) preSharedKey(e *cursor) bool {
	list := cursor{e.take(int(e.u16())), true}
	for len(list.b) > 0 {
		id := list.take(int(list.u16()))
		list.take(4) // an age, which only tickets have
		if !list.ok || len(id) == 0 {
			return false
		}
		h.identities = append(h.identities, id)
	}
	list = cursor{e.take(int(e.u16())), true}
	for len(list.b) > 0 {
		b := list.take(int(list.u8()))
		if !list.ok || len(b) < hashSize {
			return false
		}
		h.binders = append(h.binders, b)
	}
	return e.end() && len(h.identities) > 0 && len(h.identities) == len(h.binders)
}

// bindersSize is the size of the list of binders, with its length: the end of the message.
func (h *clientHello) bindersSize() int {
	n := 2
	for _, b := range h.binders {
		n += 1 + len(b)
	}
	return n
}

// cursor takes things off the front of a message. When there is not enough, it is no
// longer ok, and what is taken is empty.
type cursor struct {
	b  []byte
	ok bool
}

func (c *cursor) take(n int) []byte {
	if !c.ok || n > len(c.b) {
		c.b, c.ok = nil, false
		return nil
	}
	t := c.b[:n:n]
	c.b = c.b[n:]
	return t
}

func (c *cursor) u8() uint8 {
	if b := c.take(1); len(b) == 1 {
		return b[0]
	}
	return 0
}

func (c *cursor) u16() uint16 {
	if b := c.take(2); len(b) == 2 {
		return uint16(b[0])<<8 | uint16(b[1])
	}
	return 0
}

// all16 takes all there is as numbers.
func (c *cursor) all16() (all []uint16) {
	for len(c.b) > 0 {
		all = append(all, c.u16())
	}
	return all
}

// end reports whether everything was there, and nothing is left.
func (c *cursor) end() bool { return c.ok && len(c.b) == 0 }
