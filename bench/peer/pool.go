package peer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"minisrp/bench/host"
	"minisrp/test/durable/daemon"
)

// Pool has the servers that run.
//
// Ownership: one goroutine's.
type Pool struct {
	srpd, bench string
	dir, memory string
	size        uint64
	places      map[string]Place
	servers     map[string]*Server
}

// Server is one that runs.
type Server struct {
	URI  string
	PID  int
	Warm bool // for the caller: the whole disk was touched
	kind Kind
	dir  string
	d    *daemon.Daemon
}

// memoryDir is a file system in memory, as all Linux systems have it.
const memoryDir = "/dev/shm"

// NewPool makes a pool without servers. Its files are below TMPDIR.
func NewPool(srpd, bench string, size uint64) (*Pool, error) {
	p := &Pool{srpd: srpd, bench: bench, size: size, places: map[string]Place{}, servers: map[string]*Server{}}
	var err error
	if p.dir, err = os.MkdirTemp("", "bench"); err != nil {
		return nil, err
	}
	if p.memory, err = os.MkdirTemp(memoryDir, "bench"); err != nil {
		p.memory, err = os.MkdirTemp(p.dir, "memory") // where there is none, it is a disk that the kernel caches
	}
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// place says where a kind is: always the same.
func (p *Pool) place(k Kind) Place {
	if at, ok := p.places[k.Name]; ok {
		return at
	}
	name := strings.ReplaceAll(k.Name, " ", "-")
	at := Place{Srpd: p.srpd, Bench: p.bench, Dir: filepath.Join(p.dir, name), Memory: filepath.Join(p.memory, name), Size: p.size}
	at.Port, _ = freePort() // without one the server that needs it will say so
	p.places[k.Name] = at
	return at
}

// Dir returns the directory of all files that are not in memory.
func (p *Pool) Dir() string { return p.dir }

// Command returns how a kind is started, for a report.
func (p *Pool) Command(k Kind) string { return strings.Join(k.Command(p.place(k)), " ") }

// startTime is how long a server may take until it can be reached.
const startTime = 60 * time.Second

// Get returns the server of a kind, which it starts the first time. Errors: *MissingError, *daemon.EndedError.
func (p *Pool) Get(ctx context.Context, k Kind) (*Server, error) {
	if s := p.servers[k.Name]; s != nil {
		return s, s.d.Ended()
	}
	at := p.place(k)
	argv := k.Command(at)
	if err := Have(argv[0]); err != nil {
		return nil, err
	}
	if err := errors.Join(os.MkdirAll(at.Dir, 0o700), os.MkdirAll(at.Memory, 0o700)); err != nil {
		return nil, err
	}
	if k.Prepare != nil {
		if err := k.Prepare(at); err != nil {
			return nil, err
		}
	}
	c := daemon.Command{Argv: argv}
	if k.Env != nil {
		c.Env = k.Env(at)
	}
	if k.URI != nil {
		c.URI = k.URI(at)
	}
	d, err := daemon.Start(c)
	if err != nil {
		return nil, err
	}
	s := &Server{PID: d.PID(), kind: k, dir: at.Dir, d: d}
	p.servers[k.Name] = s
	ctx, cancel := context.WithTimeoutCause(ctx, startTime, fmt.Errorf("%s cannot be reached %v after its start", k.Name, startTime))
	defer cancel()
	if s.URI, err = d.Ready(ctx); err != nil {
		return nil, err
	}
	if err := s.reach(ctx); err != nil || k.Setup == nil {
		return s, err
	}
	return s, k.Setup(ctx, at)
}

// reach waits until the server accepts connections.
func (s *Server) reach(ctx context.Context) error {
	network, address, err := endpoint(s.URI)
	if err != nil {
		return err
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		c, err := net.Dial(network, address)
		if err == nil {
			return c.Close()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
		if err := s.d.Ended(); err != nil {
			return err
		}
	}
}

// endpoint returns what to dial for a URI.
func endpoint(uri string) (network, address string, err error) {
	u, err := url.Parse(uri)
	if err != nil {
		return "", "", err
	}
	if socket := u.Query().Get("socket"); socket != "" {
		return "unix", socket, nil
	}
	return "tcp", u.Host, nil
}

// CPU returns the time that the servers have had which still run.
func (p *Pool) CPU() time.Duration {
	var sum time.Duration
	for _, s := range p.servers {
		if t, err := host.CPU(s.PID); err == nil { // else it has ended, and its time is a child's
			sum += t
		}
	}
	return sum
}

// patience is how long a server may take to end.
const patience = 30 * time.Second

// Close ends the servers and removes their files.
func (p *Pool) Close() error {
	var errs []error
	for name, s := range p.servers {
		if s.d.Ended() != nil {
			continue
		}
		stop := func() error { return s.d.Stop(patience) }
		if s.kind.Abrupt {
			stop = s.d.Kill
		}
		if err := stop(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	}
	for _, dir := range []string{p.dir, p.memory} {
		if dir != "" {
			errs = append(errs, os.RemoveAll(dir))
		}
	}
	return errors.Join(errs...)
}
