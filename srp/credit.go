package srp

// credits is a channel's side of the request limit algorithm (SRP r16a clause 5.3): each request takes one, and the
// target says with each of its IUs how many more it takes.
//
// avail is what may be sent now, below zero when the target has lowered its limit; pending is what is with the target.
// Their sum is the request limit.
type credits struct {
	avail, pending int64
	least          int64 // the lowest that avail was since the login, or began with
}

// maxCredit bounds the request limit either way: SRP counts it in a signed 32-bit number.
const maxCredit = 1<<31 - 1

// spare is what commands leave for task management: one, unless the target takes no more than one at all.
func (c *credits) spare() int64 {
	if c.avail+c.pending > 1 {
		return 1
	}
	return 0
}

// command reports whether a command may be sent.
func (c *credits) command() bool { return c.avail > c.spare() }

// task reports whether a task management function may be sent.
func (c *credits) task() bool { return c.avail > 0 }

// take is called before what needs the credit is posted.
func (c *credits) take() {
	c.avail--
	c.pending++
	c.least = min(c.least, c.avail)
}

// untake gives back the credit of what could not be posted.
func (c *credits) untake() { c.avail++; c.pending-- }

// ended says that a request is not with the target any more. Its credit comes back by add.
func (c *credits) ended() { c.pending-- }

// add takes a REQUEST LIMIT DELTA, and reports whether the limit is a possible one.
func (c *credits) add(delta int32) bool {
	c.avail += int64(delta)
	c.least = min(c.least, c.avail)
	return c.avail <= maxCredit && c.avail >= -maxCredit
}
