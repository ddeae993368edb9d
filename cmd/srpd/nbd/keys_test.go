package nbd_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"minisrp/cmd/srpd/nbd"
	"minisrp/cmd/srpd/nbd/nbdtest"
)

const (
	keyAlice = "f40b1e0a9c2d4e5f8091a2b3c4d5e6f7f40b1e0a9c2d4e5f8091a2b3c4d5e6f7"
	keyBob   = "00112233445566778899aabbccddeeff"
)

// writeKeys writes a file of keys in the place of what is there.
func writeKeys(t testing.TB, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	return path
}

func loadKeys(t testing.TB, path string) *nbd.Keys {
	t.Helper()
	k, err := nbd.LoadKeys(path)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// pskURI returns the URI of an export for a client that has a file of keys.
func pskURI(port, who, export, file string) string {
	return "nbds://" + who + "@localhost:" + port + "/" + export + "?tls-psk-file=" + file
}

// Keys say who a client is, to rules and to the log; files that change count from the next client on.
func TestKeys(t *testing.T) {
	dir := t.TempDir()
	path := writeKeys(t, filepath.Join(dir, "keys.psk"), "alice:"+keyAlice+"\nbob:"+keyBob+"\n")
	theirs := writeKeys(t, filepath.Join(dir, "theirs.psk"), "alice:"+keyAlice+"\nbob:"+keyBob+"\neve:"+keyBob+"\n")
	wrong := writeKeys(t, filepath.Join(dir, "wrong.psk"), "alice:"+keyBob+"\n")
	access, err := nbd.ParseAccess([]string{"tls=bob"})
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, nbd.Config{TLS: nbd.TLSRequire, Credentials: loadKeys(t, path)},
		nbd.Export{Name: "all", Backend: ram(t, nbdtest.Disk(mib))},
		nbd.Export{Name: "bobs", Backend: ram(t, nbdtest.Disk(mib)), Access: access})
	_, port, _ := strings.Cut(s.listenTCP(t).String(), ":")
	if out := run(t, "nbdinfo", "--json", pskURI(port, "bob", "bobs", theirs)); !strings.Contains(out, `"TLS": true`) {
		t.Errorf("nbdinfo says\n%s", out)
	}
	eventually(t, "the log names the client", func() bool { return strings.Contains(s.log.String(), `tls=\"bob\"`) })
	run(t, "nbdinfo", pskURI(port, "alice", "all", theirs))
	refused := func(uri string) {
		t.Helper()
		before := s.Stats().Untrusted
		if out, err := exec.Command("nbdinfo", uri).CombinedOutput(); err == nil {
			t.Errorf("%s: let in\n%s", uri, out)
		}
		if !strings.Contains(uri, "bobs") {
			eventually(t, "it is counted", func() bool { return s.Stats().Untrusted == before+1 })
		}
	}
	refused(pskURI(port, "alice", "bobs", theirs))
	refused(pskURI(port, "eve", "all", theirs))
	refused(pskURI(port, "alice", "all", wrong))
	for _, want := range []string{`no key for identity \"eve\"`, `wrong key for identity \"alice\"`} {
		if !strings.Contains(s.log.String(), want) {
			t.Errorf("the log does not say %q:\n%s", want, s.log)
		}
	}

	writeKeys(t, path, "eve:"+keyBob+"\n")
	refused(pskURI(port, "alice", "all", theirs))
	run(t, "nbdinfo", pskURI(port, "eve", "all", theirs))
	// What is open to all is not taken; what was there goes on.
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	run(t, "nbdinfo", pskURI(port, "eve", "all", theirs))
	if !strings.Contains(s.log.String(), "goes on with what was read before") || !strings.Contains(s.log.String(), "0644") {
		t.Errorf("the log does not say what is wrong with the file:\n%s", s.log)
	}
	if _, err := nbd.LoadKeys(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Error(err)
	}
}
