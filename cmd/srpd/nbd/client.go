package nbd

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"minisrp/cmd/srpd/socket"
)

// Client is who is at the other end of a connection, as far as that is known for certain.
type Client struct {
	Unix bool       // over a unix socket
	PID  int        // of a unix socket's peer; 0: not known
	UID  int        // likewise; -1: not known
	Addr netip.Addr // of a TCP peer
	TLS  bool       // over TLS
	Name string     // common name of the certificate that was verified, or identity of the pre-shared key; "": none was
}

// clientOf asks the kernel who is at the other end.
func clientOf(nc net.Conn) Client {
	c := Client{UID: -1, Unix: nc.RemoteAddr().Network() == "unix"}
	if p, ok := socket.PeerOf(nc); ok {
		c.PID, c.UID = p.PID, p.UID
	}
	if a, ok := nc.RemoteAddr().(*net.TCPAddr); ok {
		c.Addr = a.AddrPort().Addr().Unmap()
	}
	return c
}

// String names the client for the log.
func (c Client) String() string {
	who := c.key()
	if c.Unix && c.PID != 0 {
		who = fmt.Sprintf("unix:pid=%d,uid=%d", c.PID, c.UID)
	}
	switch {
	case c.Name != "":
		who += fmt.Sprintf(",tls=%.64q", c.Name)
	case c.TLS:
		who += ",tls"
	}
	return who
}

// key is what limits on one client are kept by: the user of a unix socket, the address of another.
func (c Client) key() string {
	switch {
	case c.Unix && c.UID >= 0:
		return fmt.Sprintf("unix:uid=%d", c.UID)
	case c.Unix:
		return "unix"
	}
	return c.Addr.String()
}

// Connection is a client that has chosen an export.
type Connection struct {
	Export   string
	Client   Client
	Requests uint64 // a little less than it has sent
	InFlight uint64 // of them
}

// Connections returns the clients that have chosen an export, in the order of the exports' names.
func (s *Server) Connections() []Connection {
	all := []Connection{}
	s.mu.Lock()
	for c := range s.conns {
		if c.exp == nil || c.conn == nil {
			continue
		}
		x := Connection{Export: c.exp.name, Client: c.client}
		retired := c.conn.retired.Load() // first, as it is the smaller one
		x.Requests = c.conn.submitted.Load()
		x.InFlight = x.Requests - min(retired, x.Requests)
		all = append(all, x)
	}
	s.mu.Unlock()
	slices.SortFunc(all, func(a, b Connection) int {
		return cmp.Or(cmp.Compare(a.Export, b.Export), cmp.Compare(a.Client.String(), b.Client.String()))
	})
	return all
}
