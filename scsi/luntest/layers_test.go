package luntest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"minisrp/scsi/lun"
	"minisrp/scsi/luntest"
)

// A disk whose second half cannot be read, and a count of who tried.
func Example() {
	ram, err := lun.NewRAM(1<<20, 512)
	if err != nil {
		panic(err)
	}
	disk := luntest.Count(luntest.Fail(ram, func(c luntest.Call) error {
		if c.Op == luntest.Read && c.Off >= 1<<19 {
			return errors.New("scratched")
		}
		return nil
	}))
	ctx := context.Background()
	b := [][]byte{make([]byte, 512)}
	fmt.Println(disk.Read(ctx, b, 0), disk.Read(ctx, b, 1<<19), disk.Write(ctx, b, 1<<19, false))
	fmt.Println(disk.Calls(luntest.Read))
	fmt.Println(disk.Close(ctx))
	// Output:
	// <nil> scratched <nil>
	// 2 1
	// <nil>
}

func TestDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		null, err := lun.NewNull(1<<20, 512)
		if err != nil {
			t.Fatal(err)
		}
		s := luntest.Delay(null, time.Minute)
		defer s.Close(t.Context())
		start := time.Now()
		if err := s.Flush(t.Context()); err != nil || time.Since(start) != time.Minute {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.Zero(ended, 0, 512, true); err != nil || time.Since(start) != time.Minute {
			t.Errorf("%v after %v, the context had ended", err, time.Since(start))
		}
	})
}

func TestGate(t *testing.T) {
	null, err := lun.NewNull(1<<20, 512)
	if err != nil {
		t.Fatal(err)
	}
	g := luntest.Pause(null)
	defer g.Close(t.Context())
	if err := g.Unmap(t.Context(), 0, 512); err != nil {
		t.Fatal(err)
	}
	g.Shut()
	g.Shut()
	done := make(chan error)
	go func() { done <- g.Write(context.Background(), [][]byte{make([]byte, 1024)}, 4096, true) }()
	if c := <-g.Arrived(); c != (luntest.Call{Op: luntest.Write, Off: 4096, Len: 1024, FUA: true}) {
		t.Errorf("%+v", c)
	}
	select {
	case <-done:
		t.Error("passed a shut gate")
	default:
	}
	g.Open()
	g.Open()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
