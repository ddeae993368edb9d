package gostmt

import (
	"sync"

	"minisrp/verbs/dispatch"
)

func starts(f *dispatch.Frame, ch chan int, wg *sync.WaitGroup) {
	go func() { // want `\[go\] at Dispatch: starts a goroutine`
		ch <- 1 // the goroutine itself may wait
	}()
	go helper()    // want `\[go\] at Dispatch: starts a goroutine`
	wg.Go(func() { // want `\[go\] at Dispatch: starts a goroutine`
		<-ch
	})
}

func helper() {}
