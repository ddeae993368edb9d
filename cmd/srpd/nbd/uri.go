package nbd

import (
	"net"
	"net/url"
	"strings"
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
