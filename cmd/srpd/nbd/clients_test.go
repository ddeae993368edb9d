package nbd_test

import (
	"bytes"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"minisrp/cmd/srpd/nbd"
	"minisrp/cmd/srpd/nbd/nbdtest"
	"minisrp/test/need"
)

// transport is a way to the server, as each client is told of it.
type transport struct {
	name   string
	tls    bool
	listen func(t *testing.T, s *server) way
	config func(t *testing.T) nbd.Config
	disk   []nbdtest.Option
}

// way is one that has been opened.
type way struct {
	uri     func(export string) string // libnbd's
	creds   string                     // QEMU's object; "": none
	server  string                     // QEMU's options that name the server
	list    []string                   // those of qemu-nbd
	refused []string                   // URIs that must not get in
	proxy   []string                   // what nbdkit's nbd plugin is given for x; nil: not needed

}

// transports are the four, the server's credentials made anew.
func transports(t *testing.T) []transport {
	cred := newCredentials(t)
	dir := t.TempDir()
	keys := writeKeys(t, filepath.Join(dir, "keys.psk"), "alice:"+keyAlice+"\n")
	wrong := writeKeys(t, filepath.Join(dir, "wrong.psk"), "alice:"+keyBob+"\n")
	plain := func(*testing.T) nbd.Config { return nbd.Config{} }
	port := func(t *testing.T, s *server) string {
		_, port, err := net.SplitHostPort(s.listenTCP(t).String())
		if err != nil {
			t.Fatal(err)
		}
		return port
	}
	inet := func(port string) string { return "server.type=inet,server.host=localhost,server.port=" + port }
	return []transport{
		{name: "unix", config: plain, listen: func(_ *testing.T, s *server) way {
			return way{uri: s.uri, server: "server.type=unix,server.path=" + s.path, list: []string{"-k", s.path}}
		}},
		{name: "tcp", config: plain, disk: []nbdtest.Option{nbdtest.Async()}, listen: func(t *testing.T, s *server) way {
			p := port(t, s)
			return way{
				uri:    func(x string) string { return "nbd://localhost:" + p + "/" + x },
				server: inet(p), list: []string{"-b", "localhost", "-p", p},
			}
		}},
		{name: "certificates", tls: true, disk: []nbdtest.Option{nbdtest.Async()},
			config: func(t *testing.T) nbd.Config {
				return nbd.Config{TLS: nbd.TLSRequire, Credentials: cred.load(t, true)}
			},
			listen: func(t *testing.T, s *server) way {
				p := port(t, s)
				uri := func(x string) string { return "nbds://localhost:" + p + "/" + x + "?tls-certificates=" + cred.client }
				return way{
					uri: uri, server: inet(p), creds: "tls-creds-x509,id=tls0,endpoint=client,dir=" + cred.client,
					list: []string{"-b", "localhost", "-p", p},
					// fio lets no URI name a file.
					proxy:   []string{"hostname=localhost", "port=" + p, "export=x", "tls=require", "tls-certificates=" + cred.client},
					refused: []string{"nbd://localhost:" + p + "/x", strings.Replace(uri("x"), cred.client, newCredentials(t).client, 1)},
				}
			}},
		{name: "keys", tls: true,
			config: func(t *testing.T) nbd.Config {
				return nbd.Config{TLS: nbd.TLSRequire, Credentials: loadKeys(t, keys)}
			},
			listen: func(t *testing.T, s *server) way {
				p := port(t, s)
				return way{
					uri:    func(x string) string { return pskURI(p, "alice", x, keys) },
					server: inet(p), creds: "tls-creds-psk,id=tls0,endpoint=client,username=alice,dir=" + dir,
					list:    []string{"-b", "localhost", "-p", p},
					proxy:   []string{"hostname=localhost", "port=" + p, "export=x", "tls=require", "tls-username=alice", "tls-psk=" + keys},
					refused: []string{"nbd://localhost:" + p + "/x", pskURI(p, "alice", "x", wrong), pskURI(p, "eve", "x", keys)},
				}
			}},
	}
}

// qemu runs one of QEMU's programs on the export x, which is what image stands for among the arguments.
func (w *way) qemu(t *testing.T, name string, args ...string) string {
	t.Helper()
	blockdev := "driver=nbd," + w.server + ",export=x"
	var all []string
	if name == "qemu-img" {
		all, args = append(all, args[0]), args[1:]
	}
	if w.creds != "" {
		all = append(all, "--object", w.creds)
		blockdev += ",tls-creds=tls0"
	}
	for _, a := range args {
		if a == image {
			a = blockdev
		}
		all = append(all, a)
	}
	out := run(t, name, all...)
	if strings.Contains(out, "failed") || strings.Contains(out, "rror") {
		t.Errorf("%s %q says\n%s", name, all, out)
	}
	return out
}

const image = "IMAGE"

// proxied starts nbdkit as a client, and returns the URI at which it serves what it sees.
func proxied(t *testing.T, args ...string) string {
	t.Helper()
	path := need.Tool(t, "nbdkit")
	dir := t.TempDir()
	socket, pid := filepath.Join(dir, "socket"), filepath.Join(dir, "pid")
	cmd := exec.CommandContext(t.Context(), path, append([]string{"--foreground", "--unix", socket, "--pidfile", pid, "nbd"}, args...)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	eventually(t, "nbdkit is there", func() bool { _, err := os.Stat(pid); return err == nil })
	return nbd.URI(&net.UnixAddr{Name: socket, Net: "unix"}, "")
}

// The clients of libnbd and QEMU, and fio, over each transport.
func TestClients(t *testing.T) {
	const size, part = 40 * mib, 12 * mib
	for _, tr := range transports(t) {
		t.Run(tr.name, func(t *testing.T) {
			d := ram(t, nbdtest.Disk(size), append(tr.disk, nbdtest.Cached())...)
			s := serve(t, tr.config(t), nbd.Export{Name: "x", Description: "a disk", Backend: d},
				nbd.Export{Name: "ro", Backend: ram(t, nbdtest.Disk(mib)), ReadOnly: true})
			w := tr.listen(t, s)
			uri := w.uri("x")
			dir := t.TempDir()
			in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
			data := pattern(part, 5)
			clear(data[3*mib : 9*mib])
			if err := os.WriteFile(in, data, 0o600); err != nil {
				t.Fatal(err)
			}
			same := func(who string) {
				t.Helper()
				if !bytes.Equal(d.Snapshot()[:part], data) {
					t.Errorf("the disk does not hold what %s has written", who)
				}
			}
			t.Run("nbdinfo", func(t *testing.T) {
				var got struct {
					TLS        bool
					Structured bool
					Exports    []struct {
						Name     string `json:"export-name"`
						Contexts []string
					}
				}
				if err := json.Unmarshal([]byte(run(t, "nbdinfo", "--json", "--list", w.uri(""))), &got); err != nil {
					t.Fatal(err)
				}
				if got.TLS != tr.tls || !got.Structured || len(got.Exports) != 2 || strings.Join(got.Exports[1].Contexts, " ") != "base:allocation" {
					t.Errorf("nbdinfo sees %+v", got)
				}
				for _, can := range []string{"connect", "cache", "df", "fast-zero", "flush", "fua", "multi-conn", "structured-reply", "trim", "write", "zero"} {
					run(t, "nbdinfo", "--can", can, uri)
				}
				run(t, "nbdinfo", "--is", "read-only", w.uri("ro"))
				run(t, "nbdinfo", "--map", "--totals", uri)
				for _, bad := range w.refused {
					if out, err := exec.CommandContext(t.Context(), "nbdinfo", bad).CombinedOutput(); err == nil {
						t.Errorf("%s: let in\n%s", bad, out)
					}
				}
			})
			t.Run("nbdcopy", func(t *testing.T) {
				run(t, "nbdcopy", "--flush", "--connections=4", "--threads=2", in, uri)
				same("nbdcopy")
				run(t, "nbdcopy", "--connections=4", "--requests=64", uri, out)
				if got, err := os.ReadFile(out); err != nil || len(got) != size || !bytes.Equal(got[:part], data) {
					t.Errorf("what comes out differs from what went in (%v)", err)
				}
				run(t, "nbdcopy", "--synchronous", "--allocated", "--request-size=33554432", in, uri)
				same("nbdcopy --synchronous")
				run(t, "nbdcopy", "--synchronous", "--request-size=1048576", uri, "null:")
			})
			t.Run("qemu-img", func(t *testing.T) {
				w.qemu(t, "qemu-img", "convert", "-n", "-f", "raw", "--target-image-opts", in, image)
				same("qemu-img")
				w.qemu(t, "qemu-img", "compare", "--image-opts", "driver=raw,file.filename="+in, image)
				if m := w.qemu(t, "qemu-img", "map", "--output=json", "--image-opts", image); !strings.Contains(m, `"zero": true`) {
					t.Errorf("qemu-img sees no hole:\n%s", m)
				}
				if w.creds == "" { // bench takes none
					w.qemu(t, "qemu-img", "bench", "--image-opts", "-t", "none", "-c", "500", "-w", "--flush-interval=64", "-d", "32", image)
					w.qemu(t, "qemu-img", "bench", "--image-opts", "-t", "none", "-c", "50", "-s", "1M", image)
				}
			})
			t.Run("qemu-io", func(t *testing.T) {
				var args []string
				for _, c := range []string{
					"write -P 0xaa 0 1M", "write -f -P 0xbb 1M 64k", "flush", "read -P 0xaa 0 1M", "read -P 0xbb 1M 64k",
					"write -z 0 128k", "read -P 0 0 128k", "write -z -u 256k 128k", "read -P 0 256k 128k",
					"discard 512k 64k", "aio_write -P 0xcc 2M 4M", "aio_flush", "read -P 0xcc 2M 4M",
					"write -P 0xdd 1000 100", "read -P 0xdd 1000 100", // not whole blocks: qemu does what is needed
				} {
					args = append(args, "-c", c)
				}
				w.qemu(t, "qemu-io", append(append([]string{"--image-opts", "-t", "none"}, args...), image)...)
			})
			t.Run("qemu-nbd", func(t *testing.T) {
				args := append([]string{"--list"}, w.list...)
				if w.creds != "" {
					args = append(args, "--tls-creds", "tls0")
				}
				out := w.qemu(t, "qemu-nbd", args...)
				for _, want := range []string{"export: 'x'", "description: a disk", "min block: 512", "base:allocation"} {
					if !strings.Contains(out, want) {
						t.Errorf("qemu-nbd does not list %q:\n%s", want, out)
					}
				}
			})
			t.Run("nbdsh", func(t *testing.T) {
				program, err := os.ReadFile("testdata/suite.py")
				if err != nil {
					t.Fatal(err)
				}
				needsPython(t)
				t.Setenv("URI", uri)
				t.Setenv("TLS", map[bool]string{true: "1"}[tr.tls])
				for _, structured := range []string{"1", "0"} {
					t.Setenv("STRUCTURED", structured)
					run(t, python, "-c", string(program))
				}
			})
			t.Run("fio", func(t *testing.T) {
				uri := uri
				if w.proxy != nil {
					uri = proxied(t, w.proxy...)
				}
				out := run(t, "fio", "--name=verify", "--ioengine=nbd", "--uri="+uri, "--rw=randrw", "--size=16m",
					"--bsrange=4k-1m", "--iodepth=32", "--verify=crc32c", "--verify_fatal=1", "--randrepeat=1", "--output-format=json")
				if !strings.Contains(out, `"error" : 0`) {
					t.Errorf("fio says\n%s", out)
				}
			})
			if st := s.Stats().Exports; st[1].Broken != 0 || st[1].Cut != 0 {
				t.Errorf("%+v", st)
			}
		})
	}
}
