package suite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"minisrp/bench/fio"
	"minisrp/bench/model"
	"minisrp/bench/peer"
	"minisrp/bench/result"
	"minisrp/bench/rounds"
)

// ErrNoProfile says that nothing of this project's can be looked at while it makes a figure.
var ErrNoProfile = errors.New("no profile of this figure: what it is made of is not loaded by one client")

// Profile looks for a time at where the CPU goes in this project's part of a figure's group.
func (s *Suite) Profile(ctx context.Context, figure string, d time.Duration) (result.Profile, error) {
	p := result.Profile{Figure: figure}
	i := slices.IndexFunc(s.rules, func(r rule) bool { return r.Name == figure })
	j := slices.IndexFunc(s.groups, func(g rounds.Group) bool { return i >= 0 && g.Name == s.rules[i].group })
	if i < 0 || j < 0 {
		return p, ErrNoProfile
	}
	dir, err := os.MkdirTemp(s.cfg.Dir, "profile")
	if err != nil {
		return p, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "cpu.pprof")
	switch g := s.groups[j]; {
	case strings.HasPrefix(g.Name, "loopback-"):
		p.Contestant = path
		err = s.profilePath(ctx, g.Load, d, file)
	case strings.HasPrefix(g.Name, "nbd-"):
		p.Contestant = peer.Profiled.Name
		err = s.profileDaemon(ctx, g.Load, d, file)
	default:
		err = ErrNoProfile
	}
	if err != nil {
		return p, err
	}
	p.Top, err = top(ctx, file)
	return p, err
}

// profilePath profiles this process while it drives the path.
func (s *Suite) profilePath(ctx context.Context, l result.Load, d time.Duration, file string) error {
	c := model.Case{Size: l.Block, Depth: l.Depth, Write: strings.HasSuffix(l.Mode, "write")}
	subject, err := s.bed.Path(c)
	if err != nil {
		return err
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return errors.Join(err, f.Close())
	}
	failed := 0
	for end := time.Now().Add(d); time.Now().Before(end) && ctx.Err() == nil; {
		failed += subject.Run(10000)
	}
	pprof.StopCPUProfile()
	if failed > 0 {
		err = fmt.Errorf("%d requests failed", failed)
	}
	return errors.Join(err, ctx.Err(), f.Close())
}

// profileDaemon profiles a daemon of its own while fio loads it.
func (s *Suite) profileDaemon(ctx context.Context, l result.Load, d time.Duration, file string) error {
	server, err := s.cfg.Pool.Get(ctx, peer.Profiled)
	if err != nil {
		return err
	}
	if !server.Warm {
		if _, err := over(0)(ctx, server.URI); err != nil {
			return err
		}
		server.Warm = true
	}
	got := make(chan error, 1)
	go func() { got <- server.Profile(ctx, d, file) }()
	_, err = run(fio.Job{Load: l, Duration: d + time.Second})(ctx, server.URI)
	return errors.Join(err, <-got)
}

// top has pprof print what takes the most.
func top(ctx context.Context, file string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "tool", "pprof", "-top", "-nodecount=40", file)
	var says bytes.Buffer
	cmd.Stderr = &says
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go tool pprof: %w: %s", err, says.Bytes())
	}
	return string(out), nil
}
