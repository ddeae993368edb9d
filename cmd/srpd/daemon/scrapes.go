package daemon

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"
)

// serveMetrics answers Prometheus on TCP, and nothing else there.
func (d *Daemon) serveMetrics(h http.Handler) {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", h)
	s := &http.Server{
		Handler: mux, ReadHeaderTimeout: scrapeTime, ReadTimeout: scrapeTime, WriteTimeout: 2 * scrapeTime, IdleTimeout: scrapeIdle,
		MaxHeaderBytes: 16 << 10, ErrorLog: slog.NewLogLogger(d.log.Handler(), slog.LevelDebug),
	}
	d.onStop("metrics", func(ctx context.Context) error {
		if err := s.Shutdown(ctx); err != nil {
			return errors.Join(err, s.Close())
		}
		return nil
	})
	d.log.Info("metrics served", keyAddress, d.scrapes.Addr().String())
	d.startServing("metrics on "+d.scrapes.Addr().String(), func() error {
		if err := s.Serve(d.scrapes); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
}

const (
	// scrapeTime bounds the reading of a request, and twice it the answer.
	scrapeTime = 10 * time.Second
	// scrapeIdle is longer than Prometheus' usual minute, so that it keeps its connection.
	scrapeIdle = 90 * time.Second
)
