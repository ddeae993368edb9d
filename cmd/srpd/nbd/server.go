package nbd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"slices"
	"sync"
	"time"

	"minisrp/verbs/arena"
)

// Config sets a server up. The zero value of a field means its default.
type Config struct {
	Log *slog.Logger // default: slog.Default

	TLS         TLSMode
	Credentials Credentials // needed unless TLS is TLSOff

	// A client, in the limits on one, is a user of a unix socket, or an address.
	ConnMemory     int   // bytes of a connection, DefaultConnMemory
	ClientMemory   int64 // bytes of a client; default: MemoryLimit
	MemoryLimit    int64 // bytes, DefaultMemoryLimit
	MaxClientConns int   // connections of a client; default: MaxConns
	MaxConns       int   // DefaultMaxConns

	NegotiateTimeout time.Duration // DefaultNegotiateTimeout
	PayloadTimeout   time.Duration // for each MiB of a long write to arrive, while it holds memory; DefaultPayloadTimeout
	PartingTime      time.Duration // for clients to take their replies at the end; DefaultPartingTime
	// IdleTimeout ends a connection without a request for so long. 0 means never:
	// a disk that is mounted may well be idle for days.
	IdleTimeout time.Duration
	// PollTime is how long a connection looks for its client's next request before it sleeps, if the one before came as
	// soon: it costs a processor as long as requests come in, and saves both sides the wake. Default DefaultPollTime; below 0: none.
	PollTime  time.Duration
	KeepAlive time.Duration // of TCP; default DefaultKeepAlive; below 0: none
}

func (c *Config) setDefaults() error {
	c.Log = cmp.Or(c.Log, slog.Default())
	c.ConnMemory = cmp.Or(c.ConnMemory, DefaultConnMemory)
	c.MemoryLimit = cmp.Or(c.MemoryLimit, DefaultMemoryLimit)
	c.ClientMemory = cmp.Or(c.ClientMemory, c.MemoryLimit)
	c.MaxConns = cmp.Or(c.MaxConns, DefaultMaxConns)
	c.MaxClientConns = cmp.Or(c.MaxClientConns, c.MaxConns)
	c.KeepAlive = cmp.Or(c.KeepAlive, DefaultKeepAlive)
	c.NegotiateTimeout = cmp.Or(c.NegotiateTimeout, DefaultNegotiateTimeout)
	c.PayloadTimeout = cmp.Or(c.PayloadTimeout, DefaultPayloadTimeout)
	c.PollTime = max(0, cmp.Or(c.PollTime, DefaultPollTime))
	c.PartingTime = cmp.Or(c.PartingTime, DefaultPartingTime)
	const least = ringSize + slabFrom
	c.ConnMemory = (c.ConnMemory + arena.PageSize - 1) &^ (arena.PageSize - 1) // as it will be counted
	if c.ConnMemory < least || c.ConnMemory > 1<<30 {
		return fmt.Errorf("connection memory of %d bytes: want %d to %d", c.ConnMemory, least, 1<<30)
	}
	if c.TLS != TLSOff && c.Credentials == nil {
		return fmt.Errorf("TLS is %v, and there are neither certificates nor keys", c.TLS)
	}
	return nil
}

// Server serves exports to NBD clients.
//
// Ownership: made by NewServer; Serve is called once for each listener, each on a
// goroutine of the caller; Shutdown ends them all. Every connection has a
// goroutine that Serve starts and Shutdown awaits.
//
// LOCK ORDER: mu before quotas.mu.
type Server struct {
	// Fixed after construction.
	cfg  Config
	done chan struct{} // closed by Shutdown

	budget  budget
	quotas  quotas
	lookers lookers
	full    suppressor // of log records about clients that are too many
	stale   suppressor // and about credentials that cannot be read

	mu        sync.Mutex // guards what follows
	backings  map[Backend]*backing
	byName    map[string]*export
	conns     map[*session]struct{}
	serving   map[net.Listener]struct{}
	closed    bool
	accepted  uint64
	refused   uint64
	broken    uint64
	timedOut  uint64
	untrusted uint64
	watching  bool // watchIdle runs

	wg sync.WaitGroup // connections and watchIdle
}

// export is a name and what stands behind it.
//
// Ownership: the server's map; connections keep it alive through conns.
type export struct {
	// Fixed after construction.
	name, description string
	readOnly          bool
	access            Access
	backend           Backend
	backing           *backing
	pool              *pool

	counters counters

	// Guarded by Server.mu.
	removed bool
	users   sync.WaitGroup // connections; added to only while not removed
}

func (e *export) info() Info {
	i := e.backend.Info()
	i.ReadOnly = i.ReadOnly || e.readOnly
	return i
}

// NewServer makes a server without exports.
func NewServer(cfg Config) (*Server, error) {
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}
	s := &Server{
		cfg:      cfg,
		byName:   make(map[string]*export),
		backings: make(map[Backend]*backing),
		conns:    make(map[*session]struct{}),
		serving:  make(map[net.Listener]struct{}),
		done:     make(chan struct{}),
		quotas:   quotas{maxConns: cfg.MaxClientConns, maxMemory: cfg.ClientMemory, of: make(map[string]*quota)},
	}
	s.lookers.max = int32(runtime.NumCPU() - 1)
	s.budget.limit = cfg.MemoryLimit
	return s, nil
}

// Export describes what Add adds.
type Export struct {
	Name        string // up to 4096 bytes of UTF-8; clients ask for it
	Description string // up to 4096 bytes, for people
	ReadOnly    bool   // also if the disk could be written
	Access      Access // who may use it
	Backend     Backend
}

// Add makes an export visible. A client that asks for the empty name gets the
// export of that name, or else the only one.
func (s *Server) Add(x Export) error {
	if len(x.Name) > maxName || len(x.Description) > maxName {
		return fmt.Errorf("export %.64q: name and description are %d and %d bytes, want up to %d",
			x.Name, len(x.Name), len(x.Description), maxName)
	}
	if err := x.Backend.Info().check(); err != nil {
		return fmt.Errorf("export %q: %w", x.Name, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	if s.byName[x.Name] != nil {
		return fmt.Errorf("export %q: there is one of this name already", x.Name)
	}
	b := s.backings[x.Backend]
	if b == nil {
		b = &backing{backend: x.Backend}
		s.backings[x.Backend] = b
	}
	b.exports++
	s.byName[x.Name] = &export{
		name: x.Name, description: x.Description, readOnly: x.ReadOnly, access: x.Access, backend: x.Backend, backing: b,
		pool: &pool{backend: x.Backend, budget: &s.budget, size: s.cfg.ConnMemory, reclaim: s.reclaim},
	}
	return nil
}

// Remove takes an export away: its connections stop reading, what is in flight
// completes, the disk is flushed, and its memory is deregistered. When ctx ends
// first the sockets are closed; Remove still waits for requests that the backend
// has, since they point into the memory.
func (s *Server) Remove(ctx context.Context, name string) error {
	s.mu.Lock()
	e := s.byName[name]
	if e == nil {
		s.mu.Unlock()
		return fmt.Errorf("export %q: there is none of this name", name)
	}
	s.detachLocked(e)
	s.mu.Unlock()
	return s.retire(ctx, e)
}

// detachLocked hides an export and stops its connections. Caller holds s.mu.
func (s *Server) detachLocked(e *export) {
	delete(s.byName, e.name)
	e.removed = true
	if e.backing.exports--; e.backing.exports == 0 {
		delete(s.backings, e.backend)
	}
	for c := range s.conns {
		switch {
		case c.exp != e:
		case c.conn != nil:
			c.conn.stop()
		default:
			_ = c.nc.Close()
		}
	}
}

// retire waits for the connections of a detached export and puts its affairs in
// order.
func (s *Server) retire(ctx context.Context, e *export) error {
	unhook := context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for c := range s.conns {
			if c.exp == e && c.conn != nil {
				c.conn.kill()
			}
		}
	})
	e.users.Wait()
	unhook()
	err := flushDisk(ctx, e)
	if err != nil {
		err = fmt.Errorf("export %q: flush: %w", e.name, err)
	}
	return errors.Join(err, e.pool.trim(context.WithoutCancel(ctx)))
}

// Shutdown stops accepting, stops reading from all clients, lets what is in flight
// complete and its replies be written, flushes each disk, and deregisters all
// memory. Clients have Config.PartingTime to take what they asked for; those that do
// not are cut off, which is no error. When ctx ends first the sockets are closed, and the error says so;
// Shutdown still waits for requests that backends have.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.done)
	}
	for l := range s.serving {
		_ = l.Close()
	}
	for c := range s.conns {
		if c.conn == nil {
			_ = c.nc.Close()
		}
	}
	var all []*export
	for _, e := range s.byName {
		all = append(all, e)
		s.detachLocked(e)
	}
	s.mu.Unlock()
	var errs []error
	for _, e := range all {
		errs = append(errs, s.retire(ctx, e))
	}
	s.wg.Wait()
	return errors.Join(append(errs, ctx.Err())...)
}

// Stats returns the counters, exports in the order of their names.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	st := Stats{
		Connections: len(s.conns), Accepted: s.accepted, Refused: s.refused,
		Broken: s.broken, TimedOut: s.timedOut, Untrusted: s.untrusted, MemoryMax: s.budget.limit,
	}
	s.mu.Unlock()
	for _, e := range s.exports() {
		st.Exports = append(st.Exports, e.stats())
	}
	s.budget.mu.Lock()
	st.Memory = s.budget.used
	s.budget.mu.Unlock()
	return st
}

func (s *Server) exports() []*export {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*export, 0, len(s.byName))
	for _, e := range s.byName {
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b *export) int { return cmp.Compare(a.name, b.name) })
	return all
}

func (s *Server) closing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// URI returns the address of an export as NBD clients take it, where the server
// listens at an address.
func (s *Server) URI(listener net.Addr, export string) string {
	return uri(listener, export, s.cfg.TLS != TLSOff)
}

// visible is the catalog that a client sees.
type visible struct {
	*Server
	client *Client
}

// lookup finds an export. The empty name is also the only one that the client may use.
func (v visible) lookup(name string) *export {
	all := v.exports()
	for _, e := range all {
		if e.name == name {
			return e
		}
	}
	if name == "" && len(all) == 1 {
		return all[0]
	}
	return nil
}

// exports returns those that the client may use.
func (v visible) exports() []*export {
	return slices.DeleteFunc(v.Server.exports(), func(e *export) bool { return !e.access.Allows(*v.client) })
}

// Changed is to be called when a backend's Info has become another. Clients that
// connect are told what it is then in any case. Those that are connected the
// protocol has no way to tell: they keep the size that they were told, and what of
// it is no longer there ends with an error. Changed logs and returns how many they
// are.
func (s *Server) Changed(b Backend) int {
	i := b.Info()
	n := 0
	s.mu.Lock()
	for c := range s.conns {
		if c.conn != nil && c.conn.backend == b && c.conn.terms.info.Size != i.Size {
			n++
		}
	}
	var names []string
	for _, e := range s.byName {
		if e.backend == b {
			names = append(names, e.name)
		}
	}
	s.mu.Unlock()
	slices.Sort(names)
	s.cfg.Log.Info("disk changed; clients that are connected see it when they connect again",
		keyExport, names, keySize, i.Size, keyCount, n)
	return n
}
