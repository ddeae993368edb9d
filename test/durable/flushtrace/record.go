package flushtrace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"time"

	"minisrp/test/durable/daemon"
	"minisrp/test/durable/nbdclient"
)

// Config says what to trace.
type Config struct {
	Argv   []string // the server, in the foreground
	Env    []string // added to the environment
	URI    string   // of the export; empty: the server prints it
	Trace  string   // the file to write
	Groups int      // of writes with a flush behind them; 0 means 40
	Seed   uint64
	Shown  int       // bytes of each buffer in the trace; 0 means 256 KiB
	Output io.Writer // what the server prints; may be nil
}

// traced are the calls that matter.
const traced = "trace=read,readv,recvfrom,recvmsg,write,writev,sendto,sendmsg,pwrite64,pwritev,pwritev2,fsync,fdatasync,openat"

// patience is how long the server may take to be ready, for each group of requests, and to end.
const patience = 30 * time.Second

// Record runs the server under strace, writes to it and flushes, and asks it to end. It needs strace, and the right to
// trace.
func Record(ctx context.Context, cfg Config) error {
	if cfg.Groups == 0 {
		cfg.Groups = 40
	}
	if cfg.Shown == 0 {
		cfg.Shown = 256 << 10
	}
	// -D makes strace the grandchild, so that the server is ours to end.
	argv := append([]string{"strace", "-D", "-f", "-ttt", "-y", "-s", strconv.Itoa(cfg.Shown), "-e", "signal=none", "-e", traced,
		"-o", cfg.Trace, "--"}, cfg.Argv...)
	d, err := daemon.Start(daemon.Command{Argv: argv, Env: cfg.Env, URI: cfg.URI, Output: cfg.Output})
	if err != nil {
		return err
	}
	if err = exercise(ctx, d, &cfg); err != nil {
		d.Kill()
		return err
	}
	return d.Stop(patience)
}

// exercise connects and sends requests: each group is a few writes at a time and a flush, which in half of the groups
// goes out before the writes are answered; some have FUA.
func exercise(ctx context.Context, d *daemon.Daemon, cfg *Config) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("no export within %v", patience))
	defer cancel()
	uri, err := d.Ready(ctx)
	if err != nil {
		return err
	}
	address, err := nbdclient.ParseURI(uri)
	if err != nil {
		return err
	}
	c, err := dial(ctx, d, address, cfg.URI != "")
	if err != nil {
		return err
	}
	defer c.Close()
	if c.Export.Size < 1<<20 || c.Export.Flags&nbdclient.CanFlush == 0 || c.Export.MinBlock > 4096 {
		return fmt.Errorf("an export of %d bytes, transmission flags %#x, blocks of %d bytes: cannot be tested",
			c.Export.Size, uint16(c.Export.Flags), c.Export.MinBlock)
	}
	rng := rand.New(rand.NewPCG(cfg.Seed, 1))
	var cookie uint64
	send := func(q nbdclient.Request) error {
		cookie++
		q.Cookie = cookie
		return c.Send(&q)
	}
	for range cfg.Groups {
		open := 0
		for range 1 + rng.IntN(4) {
			q := nbdclient.Request{Cmd: nbdclient.Write, Length: uint32(1+rng.IntN(4)) * 4096}
			q.Offset = rng.Uint64N((c.Export.Size-uint64(q.Length))/4096) * 4096
			q.Data = make([]byte, q.Length)
			for i := range q.Data {
				q.Data[i] = byte(rng.Uint32())
			}
			if c.Export.Flags&nbdclient.CanFUA != 0 && rng.IntN(4) == 0 {
				q.Flags = nbdclient.FUA
			}
			if err := send(q); err != nil {
				return err
			}
			open++
		}
		early := rng.IntN(2) == 0
		if early {
			if err := send(nbdclient.Request{Cmd: nbdclient.Flush}); err != nil {
				return err
			}
			open++
		}
		if err := receive(c, open); err != nil {
			return err
		}
		if err := send(nbdclient.Request{Cmd: nbdclient.Flush}); err != nil {
			return err
		}
		if err := receive(c, 1); err != nil {
			return err
		}
	}
	return nil
}

// dial connects; where the URI was given, it waits for the server.
func dial(ctx context.Context, d *daemon.Daemon, address nbdclient.Address, wait bool) (*nbdclient.Conn, error) {
	retry := time.NewTicker(5 * time.Millisecond)
	defer retry.Stop()
	for {
		c, err := nbdclient.Dial(ctx, address)
		if err == nil || !wait || errors.Is(err, nbdclient.ErrProtocol) {
			return c, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", context.Cause(ctx), err)
		case <-retry.C:
			if ended := d.Ended(); ended != nil {
				return nil, ended
			}
		}
	}
}

// receive takes n replies, which must be of success.
func receive(c *nbdclient.Conn, n int) error {
	for range n {
		reply, err := c.Receive()
		if err != nil {
			return err
		}
		if reply.Errno != 0 {
			return fmt.Errorf("request %d refused: %w", reply.Cookie, reply.Errno)
		}
	}
	return nil
}
