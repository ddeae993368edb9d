package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/spf13/pflag"

	"minisrp/cmd/exitcode"
)

// A daemon that has only a configuration serves what it says; options replace it.
func TestConfiguration(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "srpd.toml")
	text := `[log]
level = "debug"
[[embedded]]
name = "lab"
[[embedded.unit]]
store = "ram"
size = "1M"
[[embedded.unit]]
store = "file"
size = "2M"
path = "two.img"
[[embedded]]
unit = [{store = "null", size = "3M", read-only = true}]
[[export]]
unit = "disk1"
name = "data"
read-only = true
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, code := output(t, exec.Command(srpdPath, "validate", "--config", file)); code != exitcode.OK || !strings.Contains(out, "2 embedded targets with 3 units") {
		t.Errorf("srpd validate: %d\n%s", code, out)
	}
	state := filepath.Join(dir, "state")
	p := start(t, state, "--config", file, "--log-level", "info")
	targets, _ := p.srpctl("targets")
	units, _ := p.srpctl("units")
	if !strings.Contains(targets, "lab") || !strings.Contains(targets, "embedded") || strings.Count(units, "naa.") < 3 {
		t.Errorf("srpctl says\n%s%s", targets, units)
	}
	if strings.Contains(p.errs.String(), "level=DEBUG") {
		t.Error("--log-level does not replace what the file says")
	}
	if st, err := os.Stat(filepath.Join(state, "two.img")); err != nil || st.Size() != 2<<20 {
		t.Errorf("the file of a unit: %v, %v", st, err)
	}
	if out := tool(t, "nbdinfo", p.uri("data")); !strings.Contains(out, "export-size: 2097152") || !strings.Contains(out, "is_read_only: true") {
		t.Errorf("nbdinfo says\n%s", out)
	}
	if out := tool(t, "nbdinfo", p.uri("disk2")); !strings.Contains(out, "is_read_only: true") {
		t.Errorf("a unit that is write protected is\n%s", out)
	}
	p.stop()

	// Who they are stays, and so do their names.
	p = start(t, state, "--config", file)
	if again, _ := p.srpctl("units"); again != units {
		t.Errorf("after a restart there are\n%s, not\n%s", again, units)
	}
	p.stop()

	// Options in the place of the embedded targets.
	p = start(t, state, embeddedArgs("--config", file)...)
	if out, _ := p.srpctl("targets"); strings.Contains(out, "lab") {
		t.Errorf("with --embedded there are\n%s", out)
	}
}

// What is wrong is told by validate and run alike, with codes.
func TestWrongConfiguration(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "srpd.toml")
	if err := os.WriteFile(file, []byte("[log]\nlevel = \"loud\"\ncolour = 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	texts := []string{file + ":2: log.level: ", file + ":3: log.colour: no such option"}
	fails(t, exitcode.Usage, texts, "validate", "--config", file)
	fails(t, exitcode.Usage, texts, "run", "--state-dir", filepath.Join(dir, "s"), "--config", file)
	fails(t, exitcode.NotFound, []string{"none.toml"}, "validate", "--config", filepath.Join(dir, "none.toml"))
	fails(t, exitcode.NotFound, []string{"none.toml"}, "run", "--state-dir", filepath.Join(dir, "s"), "--config", filepath.Join(dir, "none.toml"))
}

// Prometheus is answered on the control socket and on TCP, and there of nothing else.
func TestMetrics(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	p := start(t, state, embeddedArgs("--metrics", "127.0.0.1:0")...)
	tool(t, "nbdinfo", p.uri("disk0"))
	get := func(c *http.Client, url string) (int, string) {
		t.Helper()
		rsp, err := c.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		defer rsp.Body.Close()
		b, err := io.ReadAll(rsp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return rsp.StatusCode, string(b)
	}
	_, rest, _ := strings.Cut(p.awaitLog("metrics served"), "metrics served")
	_, rest, _ = strings.Cut(rest, "address=")
	address, _, _ := strings.Cut(rest, "\n")
	tcp := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	local := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(state, "control.sock"))
	}}}
	for url, c := range map[string]*http.Client{"http://" + address: tcp, "http://srpd": local} {
		code, text := get(c, url+"/metrics")
		problems, err := promlint.New(strings.NewReader(text)).Lint()
		if code != 200 || err != nil || len(problems) > 0 || !strings.Contains(text, `minisrp_nbd_accepted_total{export="disk0"} 1`) {
			t.Errorf("%s: %d, %v, %v\n%s", url, code, problems, err, text)
		}
	}
	if code, _ := get(tcp, "http://"+address+"/v1/units"); code != 404 {
		t.Errorf("the control API on TCP: %d", code)
	}
}

// What can be said on the command line can be said in the configuration too.
func TestOptionsInBoth(t *testing.T) {
	full, err := os.ReadFile("config/testdata/full.toml") // which has every option; package config's tests see to it
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := toml.Unmarshal(full, &doc); err != nil {
		t.Fatal(err)
	}
	in := map[string]string{
		"config": "-", "tls-psk": "-" /* it is there; full.toml has its alternative */, "embedded": "embedded", "target": "target.login", "lun": "target.luns", "channels": "session.channels",
		"queue-size": "session.queue-size", "protect": "session.protect", "socket": "nbd.socket", "tcp": "nbd.tcp",
		"control": "control.socket", "control-group": "control.group", "metrics": "metrics.listen", "read-only": "nbd.read-only", "store": "embedded.unit.store",
		"size": "embedded.unit.size", "luns": "embedded.unit", "embedded-fault": "embedded.faults", "log-level": "log.level",
		"log-format": "log.format", "nbd-memory": "nbd.memory",
	}
	runCommand().Flags().VisitAll(func(f *pflag.Flag) {
		path, ok := in[f.Name]
		if !ok {
			path = f.Name
			if _, top := doc[f.Name]; !top {
				path = "nbd." + f.Name
			}
		}
		at := any(doc)
		for _, part := range strings.Split(path, ".") {
			if l, ok := at.([]any); ok {
				at = l[0]
			}
			table, _ := at.(map[string]any)
			at = table[part]
		}
		if at == nil && path != "-" && f.Name != "help" {
			t.Errorf("--%s: there is no %s in a configuration", f.Name, path)
		}
	})
}
