package miniport

// srbList is a FIFO of SRBs.
type srbList struct{ head, tail *SRB }

func (q *srbList) push(s *SRB) {
	s.next = nil
	if q.tail == nil {
		q.head = s
	} else {
		q.tail.next = s
	}
	q.tail = s
}

func (q *srbList) pushFront(s *SRB) {
	if s.next = q.head; q.head == nil {
		q.tail = s
	}
	q.head = s
}

func (q *srbList) pop() *SRB {
	s := q.head
	if s == nil {
		return nil
	}
	if q.head = s.next; q.head == nil {
		q.tail = nil
	}
	s.next = nil
	return s
}

// take empties the list and returns what was in it.
func (q *srbList) take() srbList {
	all := *q
	*q = srbList{}
	return all
}
