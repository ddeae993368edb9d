package nbd

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// negotiation is the handshake up to transmission: the fixed newstyle one.
//
//	greeting → client flags → option … option → transmission | closed
//	                            │ INFO, LIST, STRUCTURED_REPLY, EXTENDED_HEADERS, META_CONTEXT, unknown: stay
//	                            │ STARTTLS:         all over again, over TLS
//	                            │ GO, EXPORT_NAME:  transmission
//	                            │ ABORT:            closed in good order
//	                            └ broken framing, EXPORT_NAME of no export: closed
//
// It reads exactly what it needs, so that nothing is left over for transmission.
//
// Ownership: the connection's goroutine.
type negotiation struct {
	rw      io.ReadWriter
	catalog catalog

	// attach makes an export's resources ready, so that a client can still be
	// told when there are none.
	attach func(e *export) error

	tls     TLSMode
	secured bool // TLS has been started
	// startTLS returns what to go on over. It is not called with TLSOff.
	startTLS func() (io.ReadWriter, error)

	noZeroes bool
	fixed    bool
	style    style
	told     Info    // what the client was told last
	context  *export // contextName was selected for it

	in  [maxOption]byte
	out []byte // replies of one option
}

// catalog is what a negotiation needs to know about the server.
type catalog interface {
	// lookup finds an export by name; the empty name is the default one.
	lookup(name string) *export
	// exports returns all, by name.
	exports() []*export
	// closing reports whether new clients are no longer wanted.
	closing() bool
}

// terms returns what was agreed on about an export.
func (n *negotiation) terms(e *export) terms {
	return terms{info: n.told, style: n.style, context: n.context == e && n.style != styleSimple}
}

// run negotiates and returns the export that the client chose. The error is
// errAborted, a *ProtocolError, what attach returned, or an I/O error.
func (n *negotiation) run() (*export, error) {
	hello := n.out[:0]
	hello = binary.BigEndian.AppendUint64(hello, magicInit)
	hello = binary.BigEndian.AppendUint64(hello, magicOption)
	hello = binary.BigEndian.AppendUint16(hello, flagFixedNewstyle|flagNoZeroes)
	if _, err := n.rw.Write(hello); err != nil {
		return nil, err
	}
	b, err := n.read(4)
	if err != nil {
		return nil, err
	}
	flags := binary.BigEndian.Uint32(b)
	if flags&^(flagFixedNewstyle|flagNoZeroes) != 0 {
		return nil, &ProtocolError{"unknown client flags", uint64(flags)}
	}
	n.fixed = flags&flagFixedNewstyle != 0
	n.noZeroes = flags&flagNoZeroes != 0
	for range maxOptions {
		if e, err := n.option(); e != nil || err != nil {
			return e, err
		}
	}
	return nil, &ProtocolError{"too many options in one negotiation", maxOptions}
}

// read returns the next k bytes (up to maxOption), valid until the next call.
func (n *negotiation) read(k int) ([]byte, error) {
	b := n.in[:k]
	if _, err := io.ReadFull(n.rw, b); err != nil {
		return nil, err
	}
	return b, nil
}

func (n *negotiation) skip(k int) error {
	for k > 0 {
		b, err := n.read(min(k, maxOption))
		if err != nil {
			return err
		}
		k -= len(b)
	}
	return nil
}

// option handles one option. It returns an export when transmission begins.
func (n *negotiation) option() (*export, error) {
	b, err := n.read(optHeaderSize)
	if err != nil {
		return nil, err
	}
	if m := binary.BigEndian.Uint64(b); m != magicOption {
		return nil, &ProtocolError{"option without its magic number", m}
	}
	opt, size := binary.BigEndian.Uint32(b[8:]), binary.BigEndian.Uint32(b[12:])
	n.out = n.out[:0]
	switch {
	case size > maxOptionSkip:
		return nil, &ProtocolError{"option too long", uint64(size)}
	case !n.fixed && opt != optExportName:
		return nil, &ProtocolError{"option needs the fixed newstyle flag", uint64(opt)}
	case opt == optExportName && n.needsTLS(opt):
		return nil, &ProtocolError{"EXPORT_NAME without TLS, which is required", uint64(size)}
	case opt == optExportName && n.style == styleExtended:
		return nil, &ProtocolError{"EXPORT_NAME with extended headers", uint64(size)}
	case opt == optExportName && size > maxName:
		return nil, &ProtocolError{"export name too long", uint64(size)}
	case size > maxOption:
		if err := n.skip(int(size)); err != nil {
			return nil, err
		}
		if n.needsTLS(opt) {
			n.fail(opt, repErrTLS, "TLS is required: start it first")
		} else {
			n.fail(opt, repErrTooBig, "option is too long")
		}
		return nil, n.send()
	}
	data, err := n.read(int(size))
	if err != nil {
		return nil, err
	}
	if opt == optExportName {
		return n.exportName(data)
	}
	if n.needsTLS(opt) {
		n.fail(opt, repErrTLS, "TLS is required: start it first")
		return nil, n.send()
	}
	var chosen *export
	var end error
	switch opt {
	case optAbort:
		n.reply(opt, repAck, nil)
		end = errAborted
	case optList:
		n.list(data)
	case optInfo, optGo:
		if e := n.info(opt, data); e != nil && opt == optGo {
			if end = n.attach(e); end != nil {
				n.out = n.out[:0]
				n.fail(opt, attachReply(end), end.Error())
				end = nil
			} else {
				chosen = e
			}
		}
	case optStructuredReply:
		n.setStyle(opt, data, styleStructured)
	case optExtendedHeaders:
		n.setStyle(opt, data, styleExtended)
	case optListMetaContext, optSetMetaContext:
		n.metaContext(opt, data)
	case optStartTLS:
		if n.mayStartTLS(data) {
			return nil, n.upgrade()
		}
	default:
		n.fail(opt, repErrUnsup, "option is not known")
	}
	if err := n.send(); err != nil {
		if end == errAborted {
			return nil, end // the client need not stay for the answer
		}
		return chosen, errors.Join(end, err)
	}
	return chosen, end
}

func attachReply(err error) uint32 {
	if errors.Is(err, ErrClosed) {
		return repErrShutdown
	}
	return repErrPolicy
}

// reply appends one option reply to n.out.
func (n *negotiation) reply(opt, kind uint32, data []byte) {
	n.out = binary.BigEndian.AppendUint64(n.out, magicOptReply)
	n.out = binary.BigEndian.AppendUint32(n.out, opt)
	n.out = binary.BigEndian.AppendUint32(n.out, kind)
	n.out = binary.BigEndian.AppendUint32(n.out, uint32(len(data)))
	n.out = append(n.out, data...)
}

func (n *negotiation) fail(opt, kind uint32, text string) { n.reply(opt, kind, []byte(text)) }

func (n *negotiation) send() error {
	_, err := n.rw.Write(n.out)
	return err
}

func (n *negotiation) list(data []byte) {
	if len(data) != 0 {
		n.fail(optList, repErrInvalid, "option takes no data")
		return
	}
	for _, e := range n.catalog.exports() {
		d := binary.BigEndian.AppendUint32(nil, uint32(len(e.name)))
		d = append(d, e.name...)
		n.reply(optList, repServer, append(d, e.description...))
	}
	n.reply(optList, repAck, nil)
}

// parseInfo takes the data of INFO or GO apart: a name and a list of 16-bit
// information types.
func parseInfo(data []byte) (name string, kinds []byte, ok bool) {
	name, rest, ok := parseString(data)
	if !ok || len(rest) < 2 {
		return "", nil, false
	}
	kinds = rest[2:]
	return name, kinds, len(kinds) == 2*int(binary.BigEndian.Uint16(rest))
}

// parseString takes a 32-bit length and that many bytes off data.
func parseString(data []byte) (s string, rest []byte, ok bool) {
	if len(data) < 4 {
		return "", nil, false
	}
	k := binary.BigEndian.Uint32(data)
	if data = data[4:]; uint64(k) > uint64(len(data)) {
		return "", nil, false
	}
	return string(data[:k]), data[k:], true
}

// info answers INFO and GO. The export is nil when the answer is an error.
func (n *negotiation) info(opt uint32, data []byte) *export {
	name, kinds, ok := parseInfo(data)
	switch {
	case !ok:
		n.fail(opt, repErrInvalid, "lengths within the option do not agree")
		return nil
	case len(name) > maxName:
		n.fail(opt, repErrInvalid, "export name is too long")
		return nil
	case n.catalog.closing():
		n.fail(opt, repErrShutdown, "server is shutting down")
		return nil
	}
	e := n.catalog.lookup(name)
	if e == nil {
		n.fail(opt, repErrUnknown, "no export has this name")
		return nil
	}
	i := e.info()
	if err := i.check(); err != nil { // it has changed since it was added
		n.fail(opt, repErrPolicy, err.Error())
		return nil
	}
	n.told = i
	d := binary.BigEndian.AppendUint16(nil, infoExport)
	d = binary.BigEndian.AppendUint64(d, i.Size)
	t := n.terms(e)
	n.reply(opt, repInfo, binary.BigEndian.AppendUint16(d, t.flags()))

	// Block sizes are told in any case: requests that break them are refused.
	d = binary.BigEndian.AppendUint16(nil, infoBlockSize)
	d = binary.BigEndian.AppendUint32(d, i.LogicalBlock)
	d = binary.BigEndian.AppendUint32(d, i.preferred())
	n.reply(opt, repInfo, binary.BigEndian.AppendUint32(d, MaxRequest))
	var asked [infoBlockSize + 1]bool
	for ; len(kinds) > 0; kinds = kinds[2:] {
		if k := binary.BigEndian.Uint16(kinds); int(k) < len(asked) {
			asked[k] = true
		}
	}
	if asked[infoName] {
		n.reply(opt, repInfo, append([]byte{0, infoName}, e.name...))
	}
	if asked[infoDescription] {
		n.reply(opt, repInfo, append([]byte{0, infoDescription}, e.description...))
	}
	n.reply(opt, repAck, nil)
	return e
}

// exportName answers the oldest option: there is no reply that says no.
func (n *negotiation) exportName(name []byte) (*export, error) {
	e := n.catalog.lookup(string(name))
	if e == nil {
		return nil, &ProtocolError{"EXPORT_NAME of no export: " + printable(name), uint64(len(name))}
	}
	if err := e.info().check(); err != nil {
		return nil, fmt.Errorf("export %q: %w", e.name, err)
	}
	if err := n.attach(e); err != nil {
		return nil, err
	}
	n.told = e.info()
	t := n.terms(e)
	n.out = binary.BigEndian.AppendUint64(n.out, n.told.Size)
	n.out = binary.BigEndian.AppendUint16(n.out, t.flags())
	if !n.noZeroes {
		n.out = append(n.out, make([]byte, 124)...)
	}
	return e, n.send()
}

// printable returns the start of a client's text in a form fit for a log.
func printable(b []byte) string {
	const most = 64
	s := make([]byte, 0, most)
	for _, c := range b[:min(len(b), most)] {
		if c < ' ' || c > '~' {
			c = '?'
		}
		s = append(s, c)
	}
	return string(s)
}
