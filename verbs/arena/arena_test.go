package arena_test

import (
	"fmt"
	"testing"

	"minisrp/verbs/arena"
)

func Example() {
	a, err := arena.New(10)
	if err != nil {
		panic(err)
	}
	defer a.Close()
	fmt.Println(a.Size(), a.Addr()%arena.PageSize)
	// Output: 4096 0
}

func TestSizesOutOfRange(t *testing.T) {
	for _, n := range []int{-1, 0, 1<<40 + 1} {
		if a, err := arena.New(n); err == nil {
			a.Close()
			t.Errorf("arena of %d bytes was made", n)
		}
	}
}

func TestZeroedWritableAndFreed(t *testing.T) {
	a, err := arena.New(3 << 20)
	if err != nil {
		t.Fatal(err)
	}
	b := a.Bytes()
	for i := range b {
		if b[i] != 0 {
			t.Fatalf("byte %d is %d", i, b[i])
		}
		b[i] = byte(i)
	}
	if i := a.Info(); (!i.Huge || !i.Locked) && i.Reason == nil {
		t.Errorf("%+v: something was not granted and no reason given", i)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if a.Close() != nil || a.Size() != 0 {
		t.Error("a second Close must do nothing")
	}
}

// What is released is gone, and can be had again.
func TestReserved(t *testing.T) {
	const size, at, n = 8 << 20, 1 << 20, 2 << 20
	a, err := arena.Reserve(size)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	b := a.Bytes()[at : at+n]
	for range 3 {
		if err := a.Populate(at, n); err != nil {
			t.Fatal(err)
		}
		if present := resident(t, a); mapped && (present < n || present >= size/2) {
			t.Errorf("%d bytes are present after %d were populated", present, n)
		}
		for i := range b {
			if b[i] != 0 {
				t.Fatalf("byte %d is %d", i, b[i])
			}
			b[i] = byte(i) | 1
		}
		if err := a.Release(at, n); err != nil {
			t.Fatal(err)
		}
		if present := resident(t, a); mapped && present != 0 {
			t.Errorf("%d bytes are present after all were released", present)
		}
	}
}
