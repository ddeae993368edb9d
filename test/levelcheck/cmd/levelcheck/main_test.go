package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestExitCodes(t *testing.T) {
	const dir = "../../testdata"
	tests := []struct {
		pattern string
		code    int
		says    []string
	}{
		{"./panics", 0, []string{"levelcheck: 1 packages, 1 functions at Dispatch, 0 on the data path, 0 that raise, 0 exemptions, 0 of them outside tests, 0 rules broken"}},
		{"./channel", 1, []string{"channel/channel.go:15:2: [channel] at Dispatch: sends on a channel"}},
		{"./allow", 1, []string{"allow/allow.go:15: used: exempt from lock: held for a few instructions by one other function"}},
		{"./blocks/high", 1, []string{"[blocks] at Dispatch: calls low.Queue.PushTwice"}},
		{"./noalloc", 1, []string{"noalloc.go:29:12: [noalloc] on the data path: new(request) escapes to heap"}},
		{"./exemptions", 1, []string{"0 rules broken", "11 exemptions outside tests; at most 10 may be"}},
		{"./exemptionstest", 0, []string{"11 exemptions, 0 of them outside tests, 0 rules broken"}},
		{"./absent", 2, nil},
	}
	for _, test := range tests {
		var stdout, stderr bytes.Buffer
		if code := run(dir, []string{test.pattern}, &stdout, &stderr); code != test.code {
			t.Errorf("%s: exit code %d, want %d\n%s%s", test.pattern, code, test.code, &stdout, &stderr)
		}
		for _, text := range test.says {
			if !strings.Contains(stdout.String(), text) {
				t.Errorf("%s: %q is not in the output:\n%s", test.pattern, text, &stdout)
			}
		}
	}
}
