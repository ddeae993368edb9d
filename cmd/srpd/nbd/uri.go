package nbd

import (
	"fmt"
	"net"
	"net/url"
	"strings"

	"minisrp/cmd/srpd/socket"
)

// readable undoes what a query's value need not have escaped.
var readable = strings.NewReplacer("+", "%20", "%2F", "/")

// URI returns the address of an export as NBD clients take it.
func URI(listener net.Addr, export string) string {
	name := url.PathEscape(export)
	if listener.Network() == "unix" {
		return "nbd+unix:///" + name + "?socket=" + readable.Replace(url.QueryEscape(listener.String()))
	}
	return "nbd://" + listener.String() + "/" + name
}

// clientOf names the peer of a connection for the log: the process of a unix socket, the address of another.
func clientOf(nc net.Conn) string {
	switch p, ok := socket.PeerOf(nc); {
	case ok:
		return fmt.Sprintf("unix:pid=%d,uid=%d", p.PID, p.UID)
	case nc.RemoteAddr().Network() == "unix":
		return "unix"
	}
	return nc.RemoteAddr().String()
}
