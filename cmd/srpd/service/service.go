package service

import (
	"context"
	"log/slog"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// Manager is the service manager.
//
// Ownership: made by New; used by one goroutine; Stopping ends what Watch has started.
type Manager struct {
	log      *slog.Logger
	interval time.Duration // of the watchdog; 0 if there is none

	status string // the last that was told

	cancel context.CancelFunc // nil if nothing watches
	done   chan struct{}
}

// New makes a manager of what the environment says ($NOTIFY_SOCKET, $WATCHDOG_USEC).
func New(log *slog.Logger) *Manager {
	m := &Manager{log: log}
	var err error
	if m.interval, err = daemon.SdWatchdogEnabled(false); err != nil {
		log.Warn("the watchdog is not served", "error", err)
	}
	return m
}

// Starting says what the daemon is about.
func (m *Manager) Starting(status string) { m.Status(status) }

// Status says what the daemon does now.
func (m *Manager) Status(status string) {
	if m.status != status {
		m.status = status
		m.tell("STATUS=" + status)
	}
}

// Ready says that the daemon serves.
func (m *Manager) Ready(status string) {
	m.status = status
	m.tell(daemon.SdNotifyReady + "\nSTATUS=" + status)
}

// Watch starts a goroutine that tells the watchdog, if there is one, that the daemon is alive as long as check
// succeeds. check gets half the time that the watchdog waits.
func (m *Manager) Watch(check func(context.Context) error) {
	if m.interval == 0 {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	m.cancel, m.done = cancel, make(chan struct{})
	go m.watch(ctx, check)
}

func (m *Manager) watch(ctx context.Context, check func(context.Context) error) {
	defer close(m.done)
	t := time.NewTicker(m.interval / 2)
	defer t.Stop()
	for {
		asked, cancel := context.WithTimeout(ctx, m.interval/2)
		err := check(asked)
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			m.log.Error("the daemon does not work: the watchdog is not told that it is alive", "error", err)
		default:
			m.tell(daemon.SdNotifyWatchdog)
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
	}
}

// Stopping says that the daemon ends, and ends watching.
//
//level:passive
func (m *Manager) Stopping() {
	m.tell(daemon.SdNotifyStopping + "\nSTATUS=flushing and logging out")
	if m.cancel != nil {
		m.cancel()
		<-m.done
		m.cancel = nil
	}
}

func (m *Manager) tell(state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		m.log.Warn("systemd cannot be told", "error", err)
	}
}
