package token_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"minisrp/verbs/dispatch/token"
)

// No more than the tokens allow run at a time, all run in the end, and who comes first is first.
func TestBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := token.New(2)
		var running, done atomic.Int32
		next := make(chan struct{})
		for range 5 {
			go func() {
				err := p.Do(t.Context(), func() {
					if running.Add(1) > 2 {
						t.Error("more run than there are tokens")
					}
					<-next
					running.Add(-1)
				})
				if err != nil {
					t.Error(err)
				}
				done.Add(1)
			}()
		}
		for left := int32(5); left > 0; left-- {
			synctest.Wait()
			if n := running.Load(); n != min(left, 2) {
				t.Errorf("%d run, %d are left", n, left)
			}
			next <- struct{}{}
		}
		synctest.Wait()
		if n := done.Load(); n != 5 {
			t.Errorf("%d of 5 have run", n)
		}
	})
}

// A token comes back from work that panics, and who gives up waiting has not run.
func TestGivenBack(t *testing.T) {
	p := token.New(0)
	func() {
		defer func() { _ = recover() }()
		_ = p.Do(t.Context(), func() { panic("on purpose") })
	}()
	ctx, cancel := context.WithCancel(t.Context())
	err := p.Do(t.Context(), func() {
		cancel()
		if err := p.Do(ctx, func() { t.Error("ran without a token") }); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	if err != nil || p.Size() != 1 {
		t.Errorf("%v, %d tokens", err, p.Size())
	}
}
