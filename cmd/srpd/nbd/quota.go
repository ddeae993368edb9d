package nbd

import "sync"

// quotas bound what one client has of the server.
//
// Ownership: the server's. An entry is there as long as the client has a connection.
type quotas struct {
	// Fixed after construction.
	maxConns  int
	maxMemory int64

	mu sync.Mutex // guards what follows
	of map[string]*quota
}

// quota is a client's share.
type quota struct {
	all *quotas
	key string

	// Guarded by quotas.mu.
	conns  int
	memory int64
}

// enter counts a connection. It returns nil when the client has as many as it may.
func (q *quotas) enter(key string) *quota {
	q.mu.Lock()
	defer q.mu.Unlock()
	c := q.of[key]
	if c == nil {
		c = &quota{all: q, key: key}
		q.of[key] = c
	}
	if c.conns >= q.maxConns {
		return nil
	}
	c.conns++
	return c
}

// leave counts a connection off.
func (c *quota) leave() {
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	if c.conns--; c.conns == 0 {
		delete(c.all.of, c.key)
	}
}

// take takes n bytes of the client's memory. It reports false when there are not so many.
func (c *quota) take(n int64) bool {
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	if c.memory+n > c.all.maxMemory {
		return false
	}
	c.memory += n
	return true
}

// put gives n bytes back.
func (c *quota) put(n int64) {
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	c.memory -= n
}
