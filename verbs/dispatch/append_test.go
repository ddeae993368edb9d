package dispatch_test

import (
	"testing"

	"minisrp/verbs/dispatch"
)

func TestAppend(t *testing.T) {
	s := make([]int, 0, 2)
	s = dispatch.Append(dispatch.Append(s, 1), 2)
	if len(s) != 2 || s[0] != 1 || s[1] != 2 {
		t.Fatalf("%v, want [1 2]", s)
	}
	defer func() {
		if recover() == nil {
			t.Error("a third in a slice with room for two did not panic")
		}
	}()
	dispatch.Append(s, 3)
}
