package state

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
)

// Keys of log records.
const (
	keyPath  = "path"
	keyError = "error"
	keyUnit  = "unit"
	keyName  = "name"
)

// badgerLog gives badger's messages to slog; its Info is our Debug.
type badgerLog struct{ log *slog.Logger }

func (l badgerLog) put(level slog.Level, format string, args []any) {
	if l.log.Enabled(context.Background(), level) {
		l.log.Log(context.Background(), level, "badger: "+strings.TrimSpace(fmt.Sprintf(format, args...)))
	}
}

func (l badgerLog) Errorf(format string, args ...any)   { l.put(slog.LevelError, format, args) }
func (l badgerLog) Warningf(format string, args ...any) { l.put(slog.LevelWarn, format, args) }
func (l badgerLog) Infof(format string, args ...any)    { l.put(slog.LevelDebug, format, args) }
func (l badgerLog) Debugf(format string, args ...any)   { l.put(slog.LevelDebug, format, args) }
