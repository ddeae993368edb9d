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

	"minisrp/cmd/srpd/socket"
)

// Source is where a server gets what it tells.
type Source interface {
	Daemon(ctx context.Context) (*Daemon, error)
	Targets(ctx context.Context) (*Targets, error)
	Units(ctx context.Context) (*Units, error)
	Counters(ctx context.Context) (*Counters, error)
}

const (
	// answerTime bounds one request: a source asks processors and the kernel, which takes milliseconds.
	answerTime = 10 * time.Second
	// idleTime is how long a connection may be silent.
	idleTime = 30 * time.Second
	// maxHeader bounds a request's header, in bytes; requests have no body.
	maxHeader = 16 << 10
)

// Server answers requests.
//
// Ownership: made by NewServer; Serve runs on a goroutine of the caller; Shutdown ends it.
type Server struct {
	http http.Server
	mux  *http.ServeMux
	uid  int
	log  *slog.Logger
}

// peerKey is the context key of a connection's peer.
type peerKey struct{}

// NewServer makes a server.
func NewServer(s Source, log *slog.Logger) *Server {
	srv := &Server{uid: os.Getuid(), log: log}
	mux := http.NewServeMux()
	handle(mux, "/v1/daemon", s.Daemon)
	handle(mux, "/v1/targets", s.Targets)
	handle(mux, "/v1/units", s.Units)
	handle(mux, "/v1/counters", s.Counters)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		answer(w, http.StatusNotFound, &Error{Version, "there is nothing at " + r.Method + " " + r.URL.Path})
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

// Shutdown ends the server when what is being answered has been, or ctx ends.
func (s *Server) Shutdown(ctx context.Context) error {
	if err := s.http.Shutdown(ctx); err != nil {
		return errors.Join(err, s.http.Close())
	}
	return nil
}

// allowed lets in who may ask.
func (s *Server) allowed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, ok := r.Context().Value(peerKey{}).(socket.Peer)
		if !ok || p.UID != s.uid && p.UID != 0 {
			s.log.Warn("control request refused", "pid", p.PID, "uid", p.UID)
			answer(w, http.StatusForbidden, &Error{Version, "only the daemon's own user and root are answered"})
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
			answer(w, http.StatusInternalServerError, &Error{Version, err.Error()})
			return
		}
		answer(w, http.StatusOK, v)
	})
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	_ = e.Encode(v) // a peer that has gone does not mind
}
