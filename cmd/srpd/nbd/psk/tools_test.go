package psk

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"minisrp/test/need"
)

// echo has the server send back what comes, once for each connection, and returns what
// came of them.
func echo(t *testing.T, keys *Keys) (addr string, ended <-chan result) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan result, 16)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			c, err := Server(t.Context(), nc, keys)
			if err == nil {
				if _, err = io.Copy(c, c); err == nil {
					err = c.CloseWrite()
				}
			}
			_ = nc.Close()
			done <- result{c, err}
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-stopped })
	return l.Addr().String(), done
}

// step is what a client is given, and what it says when it has done that.
type step struct{ give, want string }

// tool runs a client through the steps, ends its input, and returns what it printed.
func tool(t *testing.T, steps []step, name string, args ...string) string {
	t.Helper()
	path := need.Tool(t, name)
	cmd := exec.CommandContext(t.Context(), path, args...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	var out bytes.Buffer
	b := make([]byte, 4096)
	for _, s := range steps {
		said := out.Len()
		if _, err := io.WriteString(in, s.give); err != nil {
			t.Errorf("%s takes no input: %v", name, err)
			break
		}
		for !bytes.Contains(out.Bytes()[said:], []byte(s.want)) {
			n, err := r.Read(b)
			out.Write(b[:n])
			if err != nil {
				t.Errorf("%s does not say %q to %q", name, s.want, s.give)
				break
			}
		}
	}
	_ = in.Close()
	_, _ = io.Copy(&out, r) // what it has to say at the end
	_ = cmd.Wait()          // with what code, the callers see by what it says
	return out.String()
}

func TestOpenSSL(t *testing.T) {
	addr, ended := echo(t, testKeys(t))
	for name, args := range map[string][]string{
		"plain":    nil,
		"P-256":    {"-groups", "P-256"},
		"retry":    {"-groups", "P-384:P-256"},
		"no dummy": {"-no_middlebox"},
		"small":    {"-max_send_frag", "512"},
		"suites":   {"-ciphersuites", "TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256"},
	} {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"s_client", "-connect", addr, "-tls1_3", "-psk_identity", "alice", "-psk", testKey}, args...)
			// K asks for a change of keys in both directions, k makes one.
			out := tool(t, []step{
				{"hello\n", "hello\n"}, {"K\n", "KEYUPDATE\n"}, {"to you\n", "to you\n"}, {"k\n", "KEYUPDATE\n"}, {"and again\n", "and again\n"},
			}, "openssl", args...)
			if !strings.Contains(out, "Reused, TLSv1.3, Cipher is TLS_AES_128_GCM_SHA256") {
				t.Errorf("openssl says\n%s", out)
			}
			if r := <-ended; r.err != nil || r.c.Identity() != "alice" {
				t.Errorf("%+v", r)
			}
		})
	}
	for name, args := range map[string][]string{
		"another key":   {"-psk_identity", "alice", "-psk", strings.ToUpper(testKey[2:]) + "ee"},
		"nobody":        {"-psk_identity", "eve", "-psk", testKey},
		"another group": {"-psk_identity", "alice", "-psk", testKey, "-groups", "P-521"},
		"no key":        {},
		"TLS 1.2":       {"-tls1_2", "-psk_identity", "alice", "-psk", testKey},
	} {
		t.Run(name, func(t *testing.T) {
			out := tool(t, nil, "openssl", append([]string{"s_client", "-connect", addr}, args...)...)
			if !strings.Contains(out, "alert") {
				t.Errorf("openssl says\n%s", out)
			}
			var e *Error
			if r := <-ended; !errors.As(r.err, &e) {
				t.Errorf("%+v", r)
			} else {
				t.Log(e)
			}
		})
	}
}

func TestGnuTLS(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys.psk")
	tool(t, nil, "psktool", "--username", "carol", "--keysize", "32", "--pskfile", file)
	if err := os.Chmod(file, 0o600); err != nil {
		t.Fatal(err)
	}
	keys, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, key, _ := strings.Cut(strings.TrimSpace(string(text)), ":")
	addr, ended := echo(t, keys)
	_, port, _ := strings.Cut(addr, ":")
	for _, priority := range []string{
		"NORMAL:-KX-ALL:+ECDHE-PSK:+DHE-PSK:+PSK", "NORMAL:-VERS-ALL:+VERS-TLS1.3:+PSK:+ECDHE-PSK",
		"NORMAL:+ECDHE-PSK:-GROUP-ALL:+GROUP-SECP256R1", "NORMAL:+ECDHE-PSK:-GROUP-ALL:+GROUP-SECP384R1:+GROUP-X25519",
	} {
		out := tool(t, []step{
			{"hello\n", "hello\n"}, {"^rekey^\n", "Rekey was completed"}, {"again\n", "again\n"},
		}, "gnutls-cli", "--inline-commands", "--pskusername", "carol", "--pskkey", key, "--priority", priority, "-p", port, "127.0.0.1")
		if !strings.Contains(out, "PSK authentication. Connected as 'carol'") || !strings.Contains(out, "TLS1.3") {
			t.Errorf("with %s gnutls-cli says\n%s", priority, out)
		}
		if r := <-ended; r.err != nil || r.c.Identity() != "carol" {
			t.Errorf("%+v", r)
		}
	}
	out := tool(t, nil, "gnutls-cli", "--pskusername", "carol", "--pskkey", strings.Repeat("ab", 32), "--priority", "NORMAL:+ECDHE-PSK", "-p", port, "127.0.0.1")
	if !strings.Contains(out, "alert") {
		t.Errorf("with another key gnutls-cli says\n%s", out)
	}
	if r := <-ended; r.err == nil {
		t.Error("another key is let in")
	}
}
