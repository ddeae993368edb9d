package target

// list is a first-in-first-out list of commands. A command is in one list at most.
type list struct{ head, tail *command }

func (l *list) push(k *command) {
	k.next = nil
	if l.tail == nil {
		l.head = k
	} else {
		l.tail.next = k
	}
	l.tail = k
}

func (l *list) pop() *command {
	k := l.head
	if k == nil {
		return nil
	}
	if l.head = k.next; l.head == nil {
		l.tail = nil
	}
	k.next = nil
	return k
}

// remove takes k out, and reports whether it was there.
func (l *list) remove(k *command) bool {
	var before *command
	for at := l.head; at != nil; before, at = at, at.next {
		if at != k {
			continue
		}
		if before == nil {
			l.head = k.next
		} else {
			before.next = k.next
		}
		if l.tail == k {
			l.tail = before
		}
		k.next = nil
		return true
	}
	return false
}
