package nbd

import (
	"encoding/binary"
	"strings"
)

// setStyle answers STRUCTURED_REPLY and EXTENDED_HEADERS.
func (n *negotiation) setStyle(opt uint32, data []byte, y style) {
	switch {
	case len(data) != 0:
		n.fail(opt, repErrInvalid, "option takes no data")
	case n.style > y:
		n.fail(opt, repErrExtHeader, "extended headers have been negotiated")
	default:
		n.style = y
		n.reply(opt, repAck, nil)
	}
}

// needsTLS reports whether an option is refused because TLS has not been started.
func (n *negotiation) needsTLS(opt uint32) bool {
	return n.tls == TLSRequire && !n.secured && opt != optStartTLS && opt != optAbort
}

// mayStartTLS answers STARTTLS, unless TLS is to be started.
func (n *negotiation) mayStartTLS(data []byte) bool {
	switch {
	case n.tls == TLSOff:
		n.fail(optStartTLS, repErrUnsup, "this server has no TLS: use a unix socket or a tunnel")
	case n.secured:
		n.fail(optStartTLS, repErrInvalid, "TLS has been started")
	case len(data) != 0:
		n.fail(optStartTLS, repErrInvalid, "option takes no data")
	default:
		return true
	}
	return false
}

// upgrade goes on over TLS, with nothing agreed on.
func (n *negotiation) upgrade() error {
	n.reply(optStartTLS, repAck, nil)
	if err := n.send(); err != nil {
		return err
	}
	rw, err := n.startTLS()
	if err != nil {
		return err
	}
	n.rw, n.secured = rw, true
	n.style, n.context = styleSimple, nil
	return nil
}

// metaContext answers LIST_META_CONTEXT and SET_META_CONTEXT.
func (n *negotiation) metaContext(opt uint32, data []byte) {
	set := opt == optSetMetaContext
	if set {
		n.context = nil // also when it fails
	}
	name, rest, ok := parseString(data)
	if !ok || len(rest) < 4 {
		n.fail(opt, repErrInvalid, "lengths within the option do not agree")
		return
	}
	queries := binary.BigEndian.Uint32(rest)
	rest = rest[4:]
	found := queries == 0 && !set // no query means all, or none
	shapeless := false            // a query is namespace:leaf
	for left := queries; ok && left > 0; left-- {
		var q string
		q, rest, ok = parseString(rest)
		shapeless = shapeless || ok && !strings.Contains(q, ":")
		found = found || q == contextName || q == contextNamespace && !set
	}
	e := n.catalog.lookup(name)
	switch {
	case !ok || len(rest) != 0:
		n.fail(opt, repErrInvalid, "lengths within the option do not agree")
	case n.style == styleSimple:
		n.fail(opt, repErrInvalid, "metadata contexts need structured replies")
	case shapeless:
		n.fail(opt, repErrInvalid, "a metadata query has no namespace")
	case e == nil:
		n.fail(opt, repErrUnknown, "no export has this name")
	case found && set:
		n.context = e
		n.reply(opt, repMetaContext, append(binary.BigEndian.AppendUint32(nil, contextID), contextName...))
		n.reply(opt, repAck, nil)
	case found:
		n.reply(opt, repMetaContext, append([]byte{0, 0, 0, 0}, contextName...))
		n.reply(opt, repAck, nil)
	default:
		n.reply(opt, repAck, nil)
	}
}
