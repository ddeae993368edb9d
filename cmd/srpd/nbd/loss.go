package nbd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"minisrp/scsi/disk"
	"minisrp/verbs/dispatch"
)

// LossAccepter is a Backend whose flushes all fail with disk.ErrLostWrites once the
// disk has lost writes that it had acknowledged, until somebody accepts that.
//
// The server accepts the loss when the last client of the backend has left, if all
// who might rely on what was lost know of it: a flush of somebody's has failed so,
// and nobody has gone away without having been told, or having said goodbye. Else
// it takes Server.AcceptLoss. A client that only lost its connection comes back
// and flushes, and must not hear then that all is well.
type LossAccepter interface {
	// AcceptLoss ends that state, and reports whether it was.
	AcceptLoss() bool
}

// backing is what the exports of one backend share.
//
// Ownership: the server's; guarded by Server.mu but for backend, which is fixed.
type backing struct {
	backend Backend
	exports int
	conns   int  // that have chosen an export
	told    bool // somebody's flush has failed with the loss
	unsure  bool // somebody who may rely on what was lost does not know
}

// ended counts a connection off, after everything it had at the backend has
// completed, and accepts a loss that all know of. conn is nil if it has not come to
// transmission.
func (s *Server) ended(e *export, conn *conn, log *slog.Logger) {
	told := conn != nil && conn.told.Load()
	// Of a client that has not said goodbye nobody knows whether it counts on what it wrote. Once that is durable,
	// it may.
	vanished := conn != nil && !conn.parting && !told && conn.wrote
	s.mu.Lock()
	vanished = vanished && !e.removed // else the disk is flushed at the end of the export
	s.mu.Unlock()
	var lost error
	if vanished {
		lost = flushDisk(context.Background(), e)
	}
	s.mu.Lock()
	b := e.backing
	b.conns--
	b.told = b.told || told
	b.unsure = b.unsure || lost != nil
	accept := b.conns == 0 && b.told && !b.unsure
	if accept {
		b.told = false
	}
	s.mu.Unlock()
	switch {
	case lost != nil && !errors.Is(lost, disk.ErrClosed):
		log.Error("what a client wrote that has gone away could not be made durable", keyError, lost)
	case accept:
		s.acceptLoss(e, "all clients knew of it and have left")
	}
}

// acceptLoss has the backend's flushes succeed again.
func (s *Server) acceptLoss(e *export, why string) bool {
	a, ok := e.backend.(LossAccepter)
	if !ok || !a.AcceptLoss() {
		return false
	}
	s.cfg.Log.Warn("the loss of acknowledged writes is accepted, flushes succeed again", keyExport, e.name, keyReason, why)
	return true
}

// AcceptLoss has an export's flushes succeed again although acknowledged writes
// were lost: an operator has seen to the data. It reports whether there was a loss.
// Errors: there is no such export.
func (s *Server) AcceptLoss(name string) (bool, error) {
	s.mu.Lock()
	e := s.byName[name]
	if e == nil {
		s.mu.Unlock()
		return false, fmt.Errorf("export %q: there is none of this name", name)
	}
	e.backing.told, e.backing.unsure = false, false
	s.mu.Unlock()
	return s.acceptLoss(e, "an operator said so"), nil
}

// flushDisk flushes an export's disk and waits for it, or for ctx's end: then it is not known what became of it.
func flushDisk(ctx context.Context, e *export) error {
	if e.info().ReadOnly {
		return nil
	}
	done := make(chan struct{})
	r := &disk.Request{Op: disk.Flush, Done: func(*dispatch.Frame, *disk.Request) { close(done) }}
	var f dispatch.Frame
	e.backend.Processor().Raise(&f)
	e.backend.Submit(&f, r)
	f.Lower()
	select {
	case <-done:
		return r.Err
	case <-ctx.Done():
		return ctx.Err()
	}
}
