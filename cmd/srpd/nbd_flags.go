package main

import (
	"github.com/spf13/pflag"

	"minisrp/cmd/bytesize"
	"minisrp/cmd/srpd/daemon"
	"minisrp/cmd/srpd/nbd"
)

// nbdOptions are the options of run that are about clients.
type nbdOptions struct {
	memory, clientMemory bytesize.Size
}

// add declares the flags.
func (o *nbdOptions) add(f *pflag.FlagSet, n *daemon.NBD) {
	f.StringVar(&n.TLS, "tls", "", "NBD over TLS: off, on (if the client wants it) or require (over TCP; default with --tls-certificates and --tls-psk)")
	f.StringVar(&n.Certificates, "tls-certificates", "", "`directory` with server-cert.pem and server-key.pem, and ca-cert.pem and ca-crl.pem where clients are verified")
	f.StringVar(&n.Keys, "tls-psk", "", "`file` of pre-shared keys as psktool writes it, a line IDENTITY:KEY a client, in the place of certificates")
	f.BoolVar(&n.VerifyPeer, "tls-verify-peer", false, "let only those TLS clients in that have a certificate of the authority")
	f.StringArrayVar(&n.Allow, "allow", nil, "`rule` of who may use the disks: uid=N, unix, net=ADDRESS/BITS, tls, tls=NAME, or several with commas; may be repeated")
	f.IntVar(&n.MaxConns, "max-connections", nbd.DefaultMaxConns, "NBD connections at a time")
	f.IntVar(&n.MaxClientConns, "max-client-connections", 0, "of one user or address (default: as --max-connections)")
	o.memory = nbd.DefaultMemoryLimit
	f.Var(&o.memory, "nbd-memory", "memory of NBD connections, 8M each and more for large requests")
	f.Var(&o.clientMemory, "client-memory", "of one user or address (default: as --nbd-memory)")
	f.DurationVar(&n.PollTime, "poll-time", nbd.DefaultPollTime, "how long an NBD connection that is busy looks for the next request before it sleeps: takes a processor, and saves the wake; 0 for none")
	f.DurationVar(&n.IdleTimeout, "idle-timeout", 0, "end NBD connections that have done nothing for so long (default: never)")
}

// replaceNBD puts what options gave in the place of what files say.
func replaceNBD(n, given *daemon.NBD, changed func(string) bool) {
	for option, put := range map[string]func(){
		"tls":                    func() { n.TLS = given.TLS },
		"tls-certificates":       func() { n.Certificates = given.Certificates },
		"tls-psk":                func() { n.Keys = given.Keys },
		"tls-verify-peer":        func() { n.VerifyPeer = given.VerifyPeer },
		"allow":                  func() { n.Allow = given.Allow },
		"max-connections":        func() { n.MaxConns = given.MaxConns },
		"max-client-connections": func() { n.MaxClientConns = given.MaxClientConns },
		"nbd-memory":             func() { n.Memory = given.Memory },
		"client-memory":          func() { n.ClientMemory = given.ClientMemory },
		"poll-time":              func() { n.PollTime = given.PollTime },
		"idle-timeout":           func() { n.IdleTimeout = given.IdleTimeout },
	} {
		if changed(option) {
			put()
		}
	}
}

// complete fills in what the flags say.
func (o *nbdOptions) complete(n *daemon.NBD) {
	n.Memory, n.ClientMemory = uint64(o.memory), uint64(o.clientMemory)
}
