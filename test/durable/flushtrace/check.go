package flushtrace

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Report is what a trace proves.
type Report struct {
	Writes, FUAs, Flushes int // answered with success; FUAs are among the writes
	FileWrites, Syncs     int // calls
	Proved                int // promises: of a write by the first flush that covers it, and of one with FUA by its reply
	Unproved              []string
	Example               string // a promise, and the calls that make it true
}

// OK reports whether there were promises, and all of them are proved.
func (r *Report) OK() bool { return r.Proved > 0 && len(r.Unproved) == 0 }

// shownUnproved is how many of the promises that are not proved Print shows.
const shownUnproved = 20

// Print writes the report for people.
func (r *Report) Print(w io.Writer) {
	fmt.Fprintf(w, "answered: %d writes, %d of them with FUA, and %d flushes; calls: %d writes to files, %d syncs\n",
		r.Writes, r.FUAs, r.Flushes, r.FileWrites, r.Syncs)
	if r.Example != "" {
		fmt.Fprintln(w, "for example,", r.Example)
	}
	for i, u := range r.Unproved {
		if i == shownUnproved {
			fmt.Fprintf(w, "  and %d more\n", len(r.Unproved)-i)
			break
		}
		fmt.Fprintln(w, " ", u)
	}
	if r.OK() {
		fmt.Fprintf(w, "all %d promises proved: the write was synced before the reply\n", r.Proved)
	} else {
		fmt.Fprintf(w, "NOT PROVED: %d of %d promises\n", len(r.Unproved), len(r.Unproved)+r.Proved)
	}
}

// fileWrite is a call that wrote to a file.
type fileWrite struct {
	call *Call
	path string
	data stream
	sync bool // it was on the disk when it returned
}

// fileSync is a call that brought a file to the disk.
type fileSync struct {
	call *Call
	path string
}

// checker has what a trace says.
type checker struct {
	calls    []Call
	requests []*request
	writes   []*fileWrite
	syncs    []fileSync
	bySample map[string][]*fileWrite
}

// Check looks for the proof of every promise in a trace. A flush covers the writes, of all connections, that were
// answered before the server had the flush's request.
//
// Errors: ErrTruncated; something on a connection that is not NBD with simple replies.
func Check(calls []Call) (*Report, error) {
	k := &checker{calls: calls, bySample: make(map[string][]*fileWrite)}
	if err := k.collect(); err != nil {
		return nil, err
	}
	r := &Report{FileWrites: len(k.writes), Syncs: len(k.syncs)}
	for _, q := range k.requests {
		if q.answered == 0 || q.errno != 0 {
			continue
		}
		switch q.cmd {
		case cmdWrite:
			r.Writes++
			if q.fua {
				r.FUAs++
				r.prove(k, q, q)
			}
		case cmdFlush:
			r.Flushes++
			for _, w := range k.requests {
				if w.cmd == cmdWrite && w.answered != 0 && w.errno == 0 && w.answered < q.came && !w.covered {
					w.covered = true // a later flush has nothing more to promise of it
					r.prove(k, w, q)
				}
			}
		}
	}
	return r, nil
}

// collect sorts the calls into requests, writes to files, and syncs.
func (k *checker) collect() error {
	in, out := make(map[string]*stream), make(map[string]*stream)
	var conns []string
	dsync := make(map[string]bool)
	for i := range k.calls {
		c := &k.calls[i]
		if c.Name == "openat" || c.Name == "open" {
			if _, path, ok := strings.Cut(c.Result, "<"); ok && (strings.Contains(c.Args, "O_DSYNC") || strings.Contains(c.Args, "O_SYNC")) {
				dsync[strings.TrimSuffix(path, ">")] = true
			}
			continue
		}
		fd, path := c.descriptor()
		switch {
		case strings.HasPrefix(path, "/"):
			k.file(c, path, dsync[path])
		case strings.HasPrefix(path, "socket:") || strings.HasPrefix(path, "UNIX") || strings.HasPrefix(path, "TCP"):
			if in[fd] == nil {
				in[fd], out[fd] = new(stream), new(stream)
				conns = append(conns, fd)
			}
			switch c.Name {
			case "read", "readv", "recvfrom", "recvmsg":
				in[fd].add(c, requestMagic)
			case "write", "writev", "sendto", "sendmsg":
				out[fd].add(c, replyMagic)
			}
		}
	}
	for _, fd := range conns {
		all, err := in[fd].requests(fd)
		if err == nil {
			err = out[fd].replies(fd, all)
		}
		if err != nil {
			return err
		}
		k.requests = append(k.requests, all...)
	}
	slices.SortStableFunc(k.requests, func(a, b *request) int { return a.came - b.came })
	return nil
}

// file notes a call on a file.
func (k *checker) file(c *Call, path string, dsync bool) {
	if c.Ret < 0 {
		return
	}
	switch c.Name {
	case "fsync", "fdatasync":
		k.syncs = append(k.syncs, fileSync{c, path})
	case "write", "writev", "pwrite64", "pwritev", "pwritev2":
		w := &fileWrite{call: c, path: path, sync: dsync || strings.Contains(c.Args, "RWF_DSYNC") || strings.Contains(c.Args, "RWF_SYNC")}
		for _, p := range c.moved() {
			w.data.buf = append(w.data.buf, p.data...)
			if hidden := int(p.length) - len(p.data); hidden > 0 {
				w.data.holes = append(w.data.holes, [2]int{len(w.data.buf), len(w.data.buf) + hidden})
				w.data.buf = append(w.data.buf, make([]byte, hidden)...)
			}
		}
		k.writes = append(k.writes, w)
		for at := 0; at < len(w.data.buf); at += blockSize {
			if b, ok := w.data.shown(at, sampleSize); ok {
				k.bySample[string(b)] = append(k.bySample[string(b)], w)
			}
		}
	}
}

// prove looks for what makes the data of write w durable before the reply to q, a flush or w itself.
func (r *Report) prove(k *checker, w, q *request) {
	promise := fmt.Sprintf("write %d of %d bytes at %d (read on line %d)", w.cookie, w.length, w.offset, w.came)
	if q == w {
		promise += fmt.Sprintf(" with FUA is answered on line %d", q.answered)
	} else {
		promise += fmt.Sprintf(", answered on line %d; flush %d, read on line %d, is answered on line %d", w.answered, q.cookie, q.came, q.answered)
	}
	if len(w.samples) == 0 {
		r.Unproved = append(r.Unproved, promise+": the trace shows nothing of its data")
		return
	}
	for i, sample := range w.samples {
		proof, ok := k.durable(sample, w.came, q.answered)
		if !ok {
			r.Unproved = append(r.Unproved, promise+": "+proof)
			return
		}
		if r.Example == "" && i == 0 {
			r.Example = promise + ", between them " + proof
		}
	}
	r.Proved++
}

// durable says how a block was made durable between two lines, or what is missing.
func (k *checker) durable(sample []byte, from, to int) (string, bool) {
	missing := "no write of it to a file before that"
	for _, w := range k.found(sample) {
		if w.call.End < from || w.call.End > to {
			continue
		}
		wrote := fmt.Sprintf("%s to %s (line %d)", w.call.Name, w.path, w.call.End)
		if w.sync {
			return wrote + ", which is synchronous", true
		}
		i := slices.IndexFunc(k.syncs, func(s fileSync) bool { return s.path == w.path && s.call.Begin > w.call.End && s.call.End < to })
		if i >= 0 {
			s := k.syncs[i].call
			return fmt.Sprintf("%s and %s (lines %d to %d)", wrote, s.Name, s.Begin, s.End), true
		}
		missing = wrote + ", but no fsync or fdatasync after it that succeeds before the reply"
	}
	return missing, false
}

// found returns the writes to files that have the sample in their data.
func (k *checker) found(sample []byte) []*fileWrite {
	if w := k.bySample[string(sample)]; w != nil {
		return w
	}
	var all []*fileWrite
	for _, w := range k.writes {
		if bytes.Contains(w.data.buf, sample) {
			all = append(all, w)
		}
	}
	return all
}
