package srp

// slot is a place for a command at the target: a tag, a send buffer, windows. It outlives the Request that it is lent
// to, since the send queue and the target may know it for longer.
//
//	state     event                  state'
//	free      Start                  sent
//	sent      response               answered  windows are invalidated
//	sent      Abandon                given up  windows are invalidated
//	answered  last completion        free      Done(Completed, Refused)
//	given up  last completion        free      Done(Aborted)
//	any       channel flushed        free      Done; sent ones with ChannelDown
//
// The last completion is that of the last invalidation, and without windows that of the SEND. The send queue completes
// in order, so either says that nothing of the slot is in the queue any more.
//
// Ownership: the channel's.
type slot struct {
	// Fixed after construction.
	index  uint16
	tx     []byte
	txAddr uint64
	// table is where an indirect table is made, empty with room for the most segments.
	table     DescList
	tableAddr uint64
	windows   []window
	bounce    [2]bounce // by direction

	req      *Request
	next     *slot // free list, or list of what ends without a completion
	gen      uint32
	bound    uint16 // windows in use
	state    slotState
	sendDone bool // without windows: the SEND has completed
}

type slotState uint8

const (
	slotFree slotState = iota
	slotSent
	slotAnswered
	slotGivenUp
)

// window is a memory window with its key of the time.
type window struct {
	handle uint32
	key    uint32
}

// bounce is memory of the channel's own, for data of one direction.
type bounce struct {
	mem        []byte
	addr       uint64
	lkey, rkey uint32
}

// tagOf makes the tag of a command or, with an index behind the slots, of a task management function:
//
//	63..48 channel, 47..32 index, 31..0 generation
//
// The generation tells a late response from the one that is waited for.
func tagOf(channel, index uint16, gen uint32) uint64 {
	return uint64(channel)<<48 | uint64(index)<<32 | uint64(gen)
}

func splitTag(tag uint64) (channel, index uint16, gen uint32) {
	return uint16(tag >> 48), uint16(tag >> 32), uint32(tag)
}

// slotList is a stack: the slot used last is the one still in the caches.
type slotList struct {
	head *slot
	n    int
}

func (l *slotList) push(s *slot) { s.next, l.head = l.head, s; l.n++ }

func (l *slotList) pop() *slot {
	s := l.head
	l.head, s.next = s.next, nil
	l.n--
	return s
}

// taskSlot is a place for a task management function at the target.
//
// Ownership: the channel's.
type taskSlot struct {
	// Fixed after construction.
	tx     []byte
	txAddr uint64

	req      *TaskRequest // nil once answered
	gen      uint32
	used     bool
	sendDone bool
}

// taskList is a FIFO of functions that wait for a credit.
type taskList struct {
	head, tail *TaskRequest
	n          int64
}

func (l *taskList) push(t *TaskRequest) {
	t.next = nil
	if l.tail == nil {
		l.head = t
	} else {
		l.tail.next = t
	}
	l.tail = t
	l.n++
}

func (l *taskList) pop() *TaskRequest {
	t := l.head
	if l.head = t.next; l.head == nil {
		l.tail = nil
	}
	t.next = nil
	l.n--
	return t
}
