package main

import (
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"minisrp/cmd/exitcode"
	"minisrp/scsi/lun"
)

// program runs one of the programs until it ends.
func program(t *testing.T, path string, args ...string) exitcode.Code {
	t.Helper()
	_, code := output(t, exec.CommandContext(t.Context(), path, args...))
	return code
}

// Every code of the table is the one with which a program ends. Those of nil are in tests of their own.
func TestExitCodes(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	check := func(args ...string) exitcode.Code {
		return program(t, srptgtPath, append([]string{"check", "--unit", "a=null,size=1M"}, args...)...)
	}
	ends := map[exitcode.Code]func(t *testing.T) exitcode.Code{
		exitcode.OK: func(t *testing.T) exitcode.Code { return program(t, srpdPath, "version") },
		exitcode.Failure: func(t *testing.T) exitcode.Code {
			full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer full.Close()
			cmd := exec.CommandContext(t.Context(), srptgtPath, "version")
			cmd.Stdout = full
			_ = cmd.Run()
			return exitcode.Code(cmd.ProcessState.ExitCode())
		},
		exitcode.Usage: func(t *testing.T) exitcode.Code { return program(t, srpdPath, "run", "--colour") },
		exitcode.NotFound: func(t *testing.T) exitcode.Code {
			return program(t, srpdPath, "validate", "--config", filepath.Join(dir, "none"))
		},
		exitcode.Rejected: func(t *testing.T) exitcode.Code { return check("--fault", "stale") },
		exitcode.Unreachable: func(t *testing.T) exitcode.Code {
			return check("--fault", "delay=1h,op=login", "--login-timeout", "10ms")
		},
		exitcode.Unusable: func(t *testing.T) exitcode.Code { return check("--fault", "sense=3/1100,op=read") },
		exitcode.InUse: func(t *testing.T) exitcode.Code {
			path := file("used.img", strings.Repeat("\x00", 1<<20))
			s, err := lun.OpenFile(path, lun.FileOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close(t.Context())
			return program(t, srptgtPath, "check", "--unit", "a=file:"+path)
		},
		exitcode.State: func(t *testing.T) exitcode.Code {
			state := filepath.Join(dir, "state")
			start(t, state, embeddedArgs()...).stop()
			if err := os.WriteFile(filepath.Join(state, "db", "MANIFEST"), []byte("rubbish"), 0o600); err != nil {
				t.Fatal(err)
			}
			return program(t, srpdPath, append([]string{"run", "--state-dir", state}, embeddedArgs()...)...)
		},
		exitcode.NoDaemon: func(t *testing.T) exitcode.Code {
			return program(t, srpctlPath, "units", "--socket", filepath.Join(dir, "none"))
		},
		exitcode.Denied: func(t *testing.T) exitcode.Code {
			return program(t, srpctlPath, "units", "--socket", says(t, http.StatusForbidden, `{"version":1,"error":"no","code":"denied"}`))
		},
		exitcode.Unclean: func(t *testing.T) exitcode.Code {
			p := start(t, filepath.Join(t.TempDir(), "state"), embeddedArgs("--embedded-fault", "sense=4/4400,op=flush")...)
			_, _ = output(t, exec.Command("qemu-io", "-f", "raw", "-c", "write 0 64k", p.uri("disk0"))) // its own flush fails
			_ = p.cmd.Process.Signal(syscall.SIGTERM)
			return p.wait()
		},
		exitcode.Cut:    nil, // TestSecondSignal
		exitcode.Exists: nil, // TestControlReservations
		exitcode.Conflict: func(t *testing.T) exitcode.Code {
			return program(t, srpctlPath, "inq", "disk0", "--socket", says(t, http.StatusOK, `{"version":1,"target":"a","lun":"0","status":24}`))
		},
	}
	for _, code := range exitcode.All() {
		end, ok := ends[code]
		if !ok {
			t.Errorf("nothing ends with %d", code)
		}
		if end == nil {
			continue
		}
		t.Run(code.String(), func(t *testing.T) {
			if got := end(t); got != code {
				t.Errorf("exit code %d, want %d", got, code)
			}
		})
	}
}

// says serves one answer to everything, as a daemon that is not one, and returns the socket.
func says(t *testing.T, status int, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "control.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	t.Cleanup(func() {
		_ = srv.Close()
		<-done
	})
	return path
}
