package control

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"minisrp/cmd/exitcode"
	"minisrp/cmd/srpd/socket"
)

// Source is where a server gets what it tells.
type Source interface {
	Daemon(ctx context.Context) (*Daemon, error)
	Targets(ctx context.Context) (*Targets, error)
	Units(ctx context.Context) (*Units, error)
	Counters(ctx context.Context) (*Counters, error)
	Latencies(ctx context.Context) (*Latencies, error)
	Clients(ctx context.Context) (*Clients, error)
	Hosted(ctx context.Context) (*Hosted, error)
}

// Admin does what a server is asked to. Its errors have exit codes; requests have been checked for what they can be by
// themselves. ctx ends when the peer has gone or the server shuts down.
type Admin interface {
	Add(ctx context.Context, q *AddTarget, p Progress) (*Change, error)
	Remove(ctx context.Context, q *RemoveTarget, p Progress) (*Change, error)
	Rescan(ctx context.Context, q *Rescan, p Progress) (*Change, error)
	Logout(ctx context.Context, q *Logout, p Progress) (*Change, error)
	Reconnect(ctx context.Context, q *Reconnect, p Progress) (*Change, error)
	SCSI(ctx context.Context, q *SCSI, p Progress) (*SCSIAnswer, error)
	Task(ctx context.Context, q *Task, p Progress) (*TaskAnswer, error)
	SetFaults(ctx context.Context, q *SetFaults, p Progress) (*Hosted, error)
	AcceptLoss(ctx context.Context, q *AcceptLoss, p Progress) (*Loss, error)
}

const (
	// answerTime bounds one request: a source asks processors and the kernel, which takes milliseconds.
	answerTime = 10 * time.Second
	// idleTime is how long a connection may be silent.
	idleTime = 30 * time.Second
	// maxHeader and maxBody bound a request's header and body, in bytes: a body has MaxData in hexadecimal digits.
	maxHeader = 16 << 10
	maxBody   = 256 << 10
)

// Server answers requests.
//
// Ownership: made by NewServer; Serve runs on a goroutine of the caller; Shutdown ends it.
type Server struct {
	http http.Server
	mux  *http.ServeMux
	uid  int
	gid  int // -1: no group
	log  *slog.Logger

	changing context.Context // ends with Shutdown
	end      context.CancelCauseFunc
}

// peerKey is the context key of a connection's peer.
type peerKey struct{}

// NewServer makes a server.
func NewServer(s Source, a Admin, log *slog.Logger) *Server {
	srv := &Server{uid: os.Getuid(), gid: -1, log: log}
	srv.changing, srv.end = context.WithCancelCause(context.Background())
	mux := http.NewServeMux()
	handle(mux, "/v1/daemon", s.Daemon)
	handle(mux, "/v1/targets", s.Targets)
	handle(mux, "/v1/units", s.Units)
	handle(mux, "/v1/counters", s.Counters)
	handle(mux, "/v1/latencies", s.Latencies)
	handle(mux, "/v1/clients", s.Clients)
	handle(mux, "/v1/hosted", s.Hosted)
	change(srv, mux, "/v1/add", a.Add)
	change(srv, mux, "/v1/remove", a.Remove)
	change(srv, mux, "/v1/rescan", a.Rescan)
	change(srv, mux, "/v1/logout", a.Logout)
	change(srv, mux, "/v1/reconnect", a.Reconnect)
	change(srv, mux, "/v1/scsi", a.SCSI)
	change(srv, mux, "/v1/task", a.Task)
	change(srv, mux, "/v1/faults", a.SetFaults)
	change(srv, mux, "/v1/accept-loss", a.AcceptLoss)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, exitcode.Errorf(exitcode.NotFound, "there is nothing at %s %s", r.Method, r.URL.Path))
	})
	srv.mux = mux
	srv.http = http.Server{
		Handler:           srv.allowed(mux),
		ReadHeaderTimeout: answerTime, ReadTimeout: answerTime, WriteTimeout: 2 * answerTime, IdleTimeout: idleTime,
		MaxHeaderBytes: maxHeader,
		ErrorLog:       slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		ConnContext: func(ctx context.Context, nc net.Conn) context.Context {
			p, ok := socket.PeerOf(nc)
			if !ok {
				return ctx
			}
			return context.WithValue(ctx, peerKey{}, p)
		},
	}
	return srv
}

// AllowGroup lets members of a group ask and change everything, as the server's own user may. It is called before Serve.
func (s *Server) AllowGroup(gid int) { s.gid = gid }

// Handle answers GET at path with a handler, for those who may ask. It is called before Serve.
func (s *Server) Handle(path string, h http.Handler) { s.mux.Handle("GET "+path, h) }

// Serve answers who connects to l until Shutdown, and returns nil then. It closes l.
//
//level:passive
func (s *Server) Serve(l net.Listener) error {
	err := s.http.Serve(l)
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// Shutdown ends the server when what is being answered has been, or ctx ends. Changes that are under way are given up.
func (s *Server) Shutdown(ctx context.Context) error {
	s.end(errStopping)
	if err := s.http.Shutdown(ctx); err != nil {
		return errors.Join(err, s.http.Close())
	}
	return nil
}

// allowed lets in who may ask.
func (s *Server) allowed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, ok := r.Context().Value(peerKey{}).(socket.Peer)
		if !ok || p.UID != s.uid && p.UID != 0 && (s.gid < 0 || !p.In(s.gid)) {
			s.log.Warn("control request refused", "pid", p.PID, "uid", p.UID)
			refuse(w, exitcode.With(exitcode.Denied, errors.New("only the daemon's own user and root are answered, and the group of --control-group"), "ask as one of them"))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// handle answers GET at path with what fn returns.
func handle[T any](mux *http.ServeMux, path string, fn func(context.Context) (*T, error)) {
	mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), answerTime)
		defer cancel()
		v, err := fn(ctx)
		if err != nil {
			refuse(w, err)
			return
		}
		answer(w, http.StatusOK, v)
	})
}

// refuse answers with an error.
func refuse(w http.ResponseWriter, err error) {
	a, status := answerOf(err)
	answer(w, status, a)
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	_ = e.Encode(v) // a peer that has gone does not mind
}
