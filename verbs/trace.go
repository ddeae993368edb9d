package verbs

// trace is called before each access to state that goroutines share, by the model
// tests, which choose who goes on from there. ready, if not nil, says when the
// access would not block. It is nil otherwise.
//
//level:dispatch noalloc
type trace func(ready func() bool)

func (t trace) stop() {
	if t != nil {
		t(nil)
	}
}

func (t trace) wait(ready func() bool) {
	if t != nil {
		t(ready)
	}
}

// closed reports whether a channel that nobody sends on is closed.
func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
