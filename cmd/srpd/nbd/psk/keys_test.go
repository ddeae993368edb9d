package psk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	k, err := Parse([]byte("alice:" + testKey + "\r\n\n#0061:" + strings.ToUpper(testKey) + "\nbob smith:" + testKey[:32]))
	if err != nil || len(k.of) != 3 || string(k.of["\x00a"]) != string(unhex(t, testKey)) || len(k.of["bob smith"]) != 16 {
		t.Errorf("%+v, %v", k, err)
	}
	for _, c := range []struct{ text, want string }{
		{"", "there is no key"},
		{"\n\n", "there is no key"},
		{"alice:" + testKey + "\nbob", "line 2: want IDENTITY:KEY"},
		{":" + testKey, "identity of 0 bytes"},
		{strings.Repeat("x", 256) + ":" + testKey, "identity of 256 bytes, want 1 to 255"},
		{"#zz:" + testKey, "hexadecimal"},
		{"alice:secret", `key of "alice": want hexadecimal`},
		{"alice:" + testKey + "0", "two for each byte"},
		{"alice:" + testKey[:30], "15 bytes, want 16 to 64"},
		{"alice:" + strings.Repeat("ab", 65), "65 bytes, want 16 to 64"},
		{"alice:" + testKey + "\nalice:" + testKey, `line 2: identity "alice" is there twice`},
	} {
		if _, err := Parse([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), testKey[:30]) {
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		}
	}
}

func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.psk")
	if _, err := Load(path); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if err := os.WriteFile(path, []byte("alice:"+testKey+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for mode, ok := range map[os.FileMode]bool{0o400: true, 0o600: true, 0o640: true, 0o644: false, 0o604: false, 0o620: false, 0o602: false, 0o601: false} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(path); (err == nil) != ok || err != nil && (!strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "0600")) {
			t.Errorf("mode %v: %v", mode, err)
		}
	}
	if _, err := Load(filepath.Dir(path)); err == nil || !strings.Contains(err.Error(), "plain file") {
		t.Error(err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, maxFile+1); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Error(err)
	}
}
