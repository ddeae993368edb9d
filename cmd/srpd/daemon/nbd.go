package daemon

import (
	"context"
	"fmt"
	"net"
	"time"

	"minisrp/cmd/exitcode"
	"minisrp/cmd/srpd/export"
	"minisrp/cmd/srpd/nbd"
	"minisrp/scsi/disk"
)

// NBD says how clients are served. The zero value is for everybody, in plain text, with package nbd's limits.
type NBD struct {
	TLS          string // off, on or require; "": off without Certificates and Keys, require with
	Certificates string // directory, as package nbd reads it
	VerifyPeer   bool   // TLS clients must show a certificate that the authority there has signed
	Keys         string // file of pre-shared keys, as package nbd reads it; in the place of Certificates

	Allow []string // rules, as nbd.ParseAccess reads them

	MaxConns       int    // connections
	MaxClientConns int    // of a client
	Memory         uint64 // bytes
	ClientMemory   uint64 // of a client
	IdleTimeout    time.Duration
	PollTime       time.Duration // nbd.Config.PollTime; 0: none

	mode   nbd.TLSMode
	access nbd.Access
}

// pollTime is d as nbd.Config has it, where 0 means the default.
func pollTime(d time.Duration) time.Duration {
	if d == 0 {
		return -1
	}
	return d
}

// settle refuses what is wrong, and fills in the rest.
func (n *NBD) settle() error {
	if n.TLS == "" {
		n.TLS = nbd.TLSOff.String()
		if n.Certificates != "" || n.Keys != "" {
			n.TLS = nbd.TLSRequire.String()
		}
	}
	var err error
	if n.mode, err = nbd.ParseTLSMode(n.TLS); err != nil {
		return usage("--tls: %w", err)
	}
	if n.access, err = nbd.ParseAccess(n.Allow); err != nil {
		return usage("--allow: %w", err)
	}
	switch {
	case n.mode != nbd.TLSOff && n.Certificates == "" && n.Keys == "":
		return &exitcode.Error{Code: exitcode.Usage, Err: fmt.Errorf("--tls is %s, and neither --tls-certificates nor --tls-psk is given", n.TLS),
			Advice: "give a directory with server-cert.pem and server-key.pem, and ca-cert.pem to verify clients, or a file of keys"}
	case n.Certificates != "" && n.Keys != "":
		return usage("--tls-certificates is %s and --tls-psk is %s, want one of them", n.Certificates, n.Keys)
	case n.VerifyPeer && n.mode == nbd.TLSOff:
		return usage("--tls-verify-peer is for TLS, and --tls is off")
	case n.VerifyPeer && n.Keys != "":
		return usage("--tls-verify-peer is for certificates, and --tls-psk is given: its keys say who a client is")
	case n.MaxConns < 0 || n.MaxClientConns < 0:
		return usage("--max-connections and --max-client-connections are %d and %d, want numbers above 0", n.MaxConns, n.MaxClientConns)
	case n.PollTime < 0 || n.PollTime > MaxPollTime:
		return usage("--poll-time is %v, want 0 for none, up to %v", n.PollTime, MaxPollTime)
	case n.IdleTimeout < 0:
		return usage("--idle-timeout is %v, want a time, or 0 for none", n.IdleTimeout)
	}
	return nil
}

// startNBD makes the server, which has nothing to serve yet.
func (d *Daemon) startNBD(context.Context) (err error) {
	n := &d.cfg.NBD
	c := nbd.Config{
		Log: d.log, TLS: n.mode, MaxConns: n.MaxConns, MaxClientConns: n.MaxClientConns,
		MemoryLimit: int64(n.Memory), ClientMemory: int64(n.ClientMemory), IdleTimeout: n.IdleTimeout, PollTime: pollTime(n.PollTime),
	}
	switch {
	case n.mode == nbd.TLSOff:
	case n.Keys != "":
		if c.Credentials, err = nbd.LoadKeys(n.Keys); err != nil {
			return exitcode.With(exitcode.Usage, err, "--tls-psk takes a file as psktool writes it, which only its owner and group may read")
		}
	default:
		if c.Credentials, err = nbd.LoadCertificates(n.Certificates, n.VerifyPeer); err != nil {
			return exitcode.With(exitcode.Usage, err, "see what --tls-certificates is about in the help")
		}
	}
	d.nbd, err = nbd.NewServer(c)
	return err
}

// warnOpen says so when everybody in the network can read and write the disks.
func (d *Daemon) warnOpen(at net.Addr) {
	a, ok := at.(*net.TCPAddr)
	if !ok || a.IP.IsLoopback() || d.cfg.NBD.mode == nbd.TLSRequire || len(d.cfg.NBD.Allow) > 0 {
		return
	}
	d.log.Warn("the network can use all disks, in plain text", keyAddress, at.String(),
		keyAdvice, "give --tls-certificates or --tls-psk, and --allow rules, or listen on 127.0.0.1")
}

// tell tells the NBD server what has happened to a disk.
func (d *Daemon) tell(b *export.Backend, e disk.Event) {
	switch {
	case b == nil: // it is not exported yet
	case e.Kind == disk.CapacityChanged, e.Kind == disk.InfoChanged:
		d.nbd.Changed(b)
	}
}
