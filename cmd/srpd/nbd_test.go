package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"minisrp/cmd/exitcode"
	"minisrp/cmd/srpd/nbd/nbdtest"
)

// What the embedded target keeps shows at the client: holes, data, and holes again after a discard. One in memory keeps
// everything.
func TestHoles(t *testing.T) {
	p := start(t, filepath.Join(t.TempDir(), "state"), embeddedArgs()...)
	uri := p.uri("disk0")
	see := func(want ...string) {
		t.Helper()
		var got []string
		for _, line := range strings.Split(strings.TrimSpace(tool(t, "nbdinfo", "--map", uri)), "\n") {
			f := strings.Fields(line)
			got = append(got, strings.Join([]string{f[0], f[1], f[3]}, " "))
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("nbdinfo sees %q, want %q", got, want)
		}
	}
	see("0 67108864 hole,zero")
	qemuIO(t, uri, "write -P 1 8M 4M", "flush")
	see("0 8388608 hole,zero", "8388608 4194304 data", "12582912 54525952 hole,zero")
	qemuIO(t, uri, "discard 8M 2M", "write -z -u 11M 1M", "read -P 0 8M 2M", "read -P 1 10M 1M", "read -P 0 11M 1M")
	see("0 10485760 hole,zero", "10485760 1048576 data", "11534336 55574528 hole,zero")

	p = start(t, filepath.Join(t.TempDir(), "state"), embeddedArgs("--store", "ram")...)
	uri = p.uri("disk0")
	see("0 67108864 data")
}

// TLS by the command line: the URI says so, clients of it get in, others do not.
func TestTLS(t *testing.T) {
	a, err := nbdtest.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	server, client := t.TempDir(), t.TempDir()
	if err := a.WriteServer(server, "localhost", "127.0.0.1"); err != nil {
		t.Fatal(err)
	}
	if _, err := a.WriteClient(client, "backup"); err != nil {
		t.Fatal(err)
	}
	p := start(t, filepath.Join(t.TempDir(), "state"),
		embeddedArgs("--tcp", "0", "--tls-certificates", server, "--tls-verify-peer", "--allow", "unix", "--allow", "tls=backup")...)
	_, rest, _ := strings.Cut(p.out.String(), "  nbds://")
	uri, _, _ := strings.Cut("nbds://"+rest, "\n")
	if !strings.HasPrefix(uri, "nbds://127.0.0.1:") {
		t.Fatalf("srpd says\n%s", p.out)
	}
	if x := nbdinfo(t, uri+"?tls-certificates="+client); len(x) != 2 {
		t.Errorf("nbdinfo sees %+v", x)
	}
	tool(t, "nbdcopy", "--connections=2", uri+"?tls-certificates="+client, "null:")
	qemuIO(t, p.uri("disk0"), "read 0 1M")
	if out, code := output(t, exec.Command("nbdinfo", strings.Replace(uri, "nbds:", "nbd:", 1))); code == exitcode.OK {
		t.Errorf("let in without TLS\n%s", out)
	}

	// With keys in the place of certificates.
	keys := filepath.Join(t.TempDir(), "keys.psk")
	if err := os.WriteFile(keys, []byte("backup:000102030405060708090a0b0c0d0e0f\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	k := start(t, filepath.Join(t.TempDir(), "state"), embeddedArgs("--tcp", "0", "--tls-psk", keys, "--allow", "tls=backup")...)
	_, rest, _ = strings.Cut(k.out.String(), "  nbds://")
	uri, _, _ = strings.Cut("nbds://backup@"+rest, "\n")
	if x := nbdinfo(t, uri+"?tls-psk-file="+keys); len(x) != 2 {
		t.Errorf("nbdinfo sees %+v", x)
	}

	// Without TLS on the unix socket, and a rule that lets nobody there in.
	q := start(t, filepath.Join(t.TempDir(), "state"), embeddedArgs("--allow", "uid=4711")...)
	if x := nbdinfo(t, q.uri("")); len(x) != 0 {
		t.Errorf("nbdinfo sees %+v", x)
	}
}
