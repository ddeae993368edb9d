package dbdir

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
)

// Log gives badger's messages to slog; its Info is our Debug.
type Log struct{ To *slog.Logger }

func (l Log) put(level slog.Level, format string, args []any) {
	if l.To.Enabled(context.Background(), level) {
		l.To.Log(context.Background(), level, "badger: "+strings.TrimSpace(fmt.Sprintf(format, args...)))
	}
}

func (l Log) Errorf(format string, args ...any)   { l.put(slog.LevelError, format, args) }
func (l Log) Warningf(format string, args ...any) { l.put(slog.LevelWarn, format, args) }
func (l Log) Infof(format string, args ...any)    { l.put(slog.LevelDebug, format, args) }
func (l Log) Debugf(format string, args ...any)   { l.put(slog.LevelDebug, format, args) }
