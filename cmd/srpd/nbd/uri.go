package nbd

import (
	"net"
	"net/url"
	"strings"
)

// readable undoes what a query's value need not have escaped.
var readable = strings.NewReplacer("+", "%20", "%2F", "/")

// URI returns the address of an export as NBD clients take it.
func URI(listener net.Addr, export string) string { return uri(listener, export, false) }

// uri is URI; over a network it is one that insists on TLS if there is TLS.
func uri(listener net.Addr, export string, secure bool) string {
	name := url.PathEscape(export)
	switch {
	case listener.Network() == "unix":
		return "nbd+unix:///" + name + "?socket=" + readable.Replace(url.QueryEscape(listener.String()))
	case secure:
		return "nbds://" + listener.String() + "/" + name
	}
	return "nbd://" + listener.String() + "/" + name
}
