package hold_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"minisrp/cmd/srpd/hold"
)

func Example() {
	dir, err := os.MkdirTemp("", "hold")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	l, err := hold.New(filepath.Join(dir, "lock"))
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = hold.New(filepath.Join(dir, "lock"))
	fmt.Println(errors.Is(err, hold.ErrInUse))
	fmt.Println(hold.Holder{PID: 4711, Name: "srpd"})
	fmt.Println(l.Release())
	// Output:
	// true
	// process 4711 (srpd)
	// <nil>
}
