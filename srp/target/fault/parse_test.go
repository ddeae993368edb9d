package fault_test

import (
	"errors"
	"strings"
	"testing"

	"minisrp/srp/target/fault"
)

// What is written is read as it was, in its shortest spelling.
func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    "",
		" ; \n ":                              "",
		"seed=9":                              "seed=9",
		"late=1000ms":                         "late=1s",
		"status=0x08":                         "status=busy",
		"status=0x30":                         "status=0x30",
		"sense=0xb/0x4b00":                    "sense=b/4b00",
		"aer=0x3F0E@0":                        "aer=3f0e",
		"aer=2a09@300":                        "aer=2a09@300",
		"reject=10003":                        "reject=0x00010003",
		"cm-reject=3,times=2":                 "cm-reject=3,times=2",
		"delay=1s,op=login,from=192.0.2.9/24": "delay=1s,op=login,from=192.0.2.0/24",
		"lose , leak, times=3 ,op=0x2A,p=0.5": "lose,op=0x2a,p=0.5,times=3,leak",
		"late=1s,stubborn,lun=300,skip=2,every=3":      "late=1s,lun=300,skip=2,every=3,stubborn",
		"seed=4;lose,p=0.1\nseed=5;duplicate,op=reset": "seed=4; lose,p=0.1; seed=5; duplicate,op=reset",
		"logout=0; disconnect ; cred-req=-8; withhold=1; stale; redirect; credits=1; iu-limit=64; max-iu=0; residual=-512": "logout=0; disconnect; cred-req=-8; withhold=1; stale; redirect; credits=1; iu-limit=64; max-iu=0; residual=-512",
	} {
		rs, err := fault.Parse(text)
		if err != nil || rs.String() != want {
			t.Errorf("%q: %q, %v; want %q", text, rs, err, want)
			continue
		}
		if again, err := fault.Parse(rs.String()); err != nil || again.String() != want {
			t.Errorf("%q read again: %q, %v", want, again, err)
		}
	}
}

// What is wrong is said, with what would be right.
func TestSyntax(t *testing.T) {
	for text, want := range map[string]string{
		"sloth":                    `"sloth" is not a fault: want one of delay, late,`,
		"delay":                    "delay=VALUE with a time",
		"delay=":                   "delay=VALUE with a time",
		"delay=5":                  "a time, as in 50ms",
		"delay=-1s":                "a time",
		"late=25h":                 "a time",
		"lose=1":                   "lose without a value",
		"status=good":              "busy, task-set-full",
		"status=0x0":               "busy",
		"sense=3":                  "KEY/ASC",
		"sense=10/1100":            "KEY/ASC",
		"residual=x":               "bytes",
		"residual=4294967296":      "bytes",
		"cred-req=0":               "credits to give",
		"withhold=-1":              "credits",
		"aer=3f":                   "ASC or ASC@LUN",
		"aer=3f0e@-1":              "ASC or ASC@LUN",
		"logout=5":                 "a reason, 0 to 4",
		"reject=0":                 "SRP_LOGIN_REJ",
		"cm-reject=28":             "connection manager",
		"credits=0":                "credits",
		"iu-limit=63":              "64 or more",
		"lose,p=0":                 "p=X, above 0",
		"lose,p=1.1":               "p=X",
		"lose,p=NaN":               "p=X",
		"lose,p=-1":                "p=X",
		"lose,every=0":             "every=N, 1 or more",
		"lose,op=erase":            "op= any, read",
		"lose,op=28":               "op= any",
		"lose,lun=16384":           "lun=N, 0 to 16383",
		"lose,from=me":             "from=WHO",
		"lose,op":                  "op= any",
		"lose,leak=1":              "leak",
		"lose,often":               "op=, lun=, from=",
		"lose,op=read,op=write":    "op once",
		"lose,stubborn":            "stubborn with late",
		"delay=1s,leak":            "leak with lose",
		"delay=1s,op=tmf,stubborn": "stubborn with late",
		"late=1s,op=tmf":           "not about task management functions",
		"late=1s,op=login":         "not about logins",
		"delay=1s,op=login,lun=0":  "no lun",
		"stale,op=login":           "without op and lun",
		"credits=1,lun=2":          "without op and lun",
		"seed=x":                   "seed=N",
		"lose;seed=-1":             "seed=N",
	} {
		_, err := fault.Parse(text)
		var se *fault.SyntaxError
		if !errors.As(err, &se) || !errors.Is(err, fault.ErrSyntax) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q", text, err, want)
		}
	}
}

func TestParseAction(t *testing.T) {
	if a, err := fault.ParseAction(" cred-req=-2 "); err != nil || a != (fault.Action{Kind: fault.CreditRequest, Credits: -2}) {
		t.Errorf("%+v, %v", a, err)
	}
	for _, s := range []string{"", "lose", "logout=1,times=1", "reject=0x10001", "logout"} {
		if _, err := fault.ParseAction(s); !errors.Is(err, fault.ErrSyntax) {
			t.Errorf("%q: %v", s, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"lose,p=0.1,every=3;seed=2", "aer=3f0e@7", "delay=1s,op=login", "residual=-3,from=1:2:3:4", "status=0x99"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		rs, err := fault.Parse(s)
		if err != nil {
			return
		}
		if again, err := fault.Parse(rs.String()); err != nil || again.String() != rs.String() {
			t.Fatalf("%q is %q, read again %q, %v", s, rs, again, err)
		}
	})
}
