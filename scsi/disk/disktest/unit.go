package disktest

import (
	"minisrp/miniport"
	"minisrp/scsi"
	"minisrp/verbs/dispatch"
)

// Config is what a unit is. The zero value is a read-write disk of no blocks; fill in at least Capacity.
type Config struct {
	Inquiry  scsi.StandardInquiry // with an empty Vendor: a disk of this package
	Serial   string               // page 80h; "": no such page
	NAA      [16]byte             // in page 83h; zero: no such page
	Capacity scsi.Capacity

	Limits          *scsi.BlockLimits // pages that are nil are not there
	Characteristics *scsi.BlockCharacteristics
	Provisioning    *scsi.Provisioning

	WriteCache     bool
	NoCachingPage  bool
	WriteProtected bool
	DPOFUA         bool
	NoData         bool // WRITE SAME(16) with NDOB

	LBAStatus bool // GET LBA STATUS
	Prefetch  bool // PRE-FETCH

	// Unknown commands end with INVALID COMMAND OPERATION CODE. REPORT SUPPORTED OPERATION CODES tells the truth
	// about them, unless it is one of them.
	Unknown []scsi.Opcode
	// MaxWriteSame bounds WRITE SAME also where Limits do not say so; 0: no.
	MaxWriteSame uint64
}

// Hook decides how a command ends. nil means that it is carried out.
//
//level:dispatch
type Hook func(c *Command) *Answer

// Entry is a command that the unit was sent.
type Entry struct {
	CDB    scsi.CDB
	Length int // of the CDB
	Data   []byte
}

// Command is a command at the unit.
type Command struct {
	SRB  *miniport.SRB
	next *Command
	more *Command // in Unit.free
	mine bool
}

// Link is where the queue between processors keeps its link.
func (c *Command) Link() **Command { return &c.next }

// Unit is a disk of RAM.
type Unit struct {
	// Config may be changed as long as nothing is at the unit.
	Config Config

	// Hook is asked about each command that no script is for.
	//
	//level:dispatch
	Hook Hook
	// Hold keeps commands until Finish.
	Hold bool
	// Record keeps a log of the commands in Log.
	Record bool
	Log    []Entry

	Data     []byte // the blocks as they read; units of more than 1 GiB keep none
	Durable  []byte // the blocks as they were after a loss of power
	Unmapped []bool // by block: deallocated, and not written since

	proc     *dispatch.Processor
	incoming dispatch.Stack[Command, *Command]
	dpc      dispatch.DPC
	pool     [256]Command
	free     *Command
	queue    []*Command
	held     []*Command
	scripts  map[scsi.Opcode][]*Answer
	attend   []scsi.ASC // unit attention conditions
	most     int        // commands at the unit at a time
	now      int
	answer   []byte
}

const maxData = 1 << 30

// NewUnit makes a unit on a processor.
func NewUnit(p *dispatch.Processor, c Config) *Unit {
	u := &Unit{Config: c, proc: p, scripts: map[scsi.Opcode][]*Answer{}}
	if u.Config.Inquiry.Vendor == [8]byte{} {
		q := &u.Config.Inquiry
		q.Version, q.ResponseFormat, q.CmdQue = 6, 2, true
		q.SetText("MINISRP", "TEST DISK", "1")
	}
	u.Resize(c.Capacity.LastLBA)
	u.dpc.Init(p, u.run)
	for i := range u.pool {
		u.pool[i].mine = true
		u.put(&u.pool[i])
	}
	u.queue = make([]*Command, 0, 1024)
	u.held = make([]*Command, 0, 1024)
	u.answer = make([]byte, 0, 64<<10)
	return u
}

// Resize gives the unit another last block. What the blocks hold stays.
func (u *Unit) Resize(last uint64) {
	u.Config.Capacity.LastLBA = last
	size, ok := u.Config.Capacity.Bytes()
	if !ok || size > maxData {
		u.Data, u.Durable, u.Unmapped = nil, nil, nil
		return
	}
	blocks, _ := u.Config.Capacity.Blocks()
	unmapped := make([]bool, blocks)
	copy(unmapped, u.Unmapped)
	u.Unmapped = unmapped
	data, durable := make([]byte, size), make([]byte, size)
	copy(data, u.Data)
	copy(durable, u.Durable)
	u.Data, u.Durable = data, durable
}

// Script has the next commands with this operation code end so, one after the other.
func (u *Unit) Script(op scsi.Opcode, answers ...*Answer) {
	u.scripts[op] = append(u.scripts[op], answers...)
}

// Attention establishes unit attention conditions.
func (u *Unit) Attention(codes ...scsi.ASC) { u.attend = append(u.attend, codes...) }

// LosePower forgets what is in the write cache.
func (u *Unit) LosePower() { copy(u.Data, u.Durable) }

// Most returns how many commands were at the unit at the same time at most.
func (u *Unit) Most() int { return u.most }

// Held returns the commands that Hold keeps, oldest first.
func (u *Unit) Held() []*Command { return u.held }

// Finish ends a command that is held, carrying it out if a is nil. Level: both; on a manual processor that rests.
//
//level:passive
func (u *Unit) Finish(c *Command, a *Answer) {
	for i, h := range u.held {
		if h == c {
			u.held = append(u.held[:i], u.held[i+1:]...)
			break
		}
	}
	var f dispatch.Frame
	u.proc.Raise(&f)
	u.finish(&f, c, a)
	f.Lower()
}

// Do runs fn on the unit's processor and waits for it.
//
//level:passive
func (u *Unit) Do(fn func()) {
	done := make(chan struct{})
	var d dispatch.DPC
	d.Init(u.proc, func(*dispatch.Frame) {
		//level:allow dynamic: a test's own few lines
		fn()
		close(done)
	})
	d.Post()
	<-done
}

// Submit takes a command. It implements disk.Unit.
func (u *Unit) Submit(f *dispatch.Frame, s *miniport.SRB) {
	s.Status, s.SCSIStatus, s.Transferred, s.SenseLength = miniport.StatusPending, 0, 0, 0
	if !f.On(u.proc) {
		u.incoming.Push(&Command{SRB: s})
		u.dpc.Queue(f)
		return
	}
	c := u.free
	if c != nil {
		u.free, c.more = c.more, nil
	} else {
		c = &Command{}
	}
	c.SRB = s
	u.queue = append(u.queue, c)
	u.dpc.Queue(f)
}

func (u *Unit) put(c *Command) {
	c.SRB = nil
	if c.mine {
		c.more, u.free = u.free, c
	}
}

// run executes what has been submitted.
func (u *Unit) run(f *dispatch.Frame) {
	for c, _ := u.incoming.Take(); c != nil; {
		next := c.next
		c.next = nil
		u.queue = append(u.queue, c)
		c = next
	}
	// What completions submit is for the next run.
	n := len(u.queue)
	u.now += n
	u.most = max(u.most, u.now)
	for i := range n {
		c := u.queue[i]
		if u.Record {
			u.record(c)
		}
		if u.Hold {
			u.held = append(u.held, c)
			continue
		}
		u.finish(f, c, nil)
	}
	u.queue = u.queue[:copy(u.queue, u.queue[n:])]
}

func (u *Unit) record(c *Command) {
	s := c.SRB
	e := Entry{CDB: s.CDB, Length: int(s.CDBLength)}
	if s.Direction == miniport.DataOut && scsi.Opcode(s.CDB[0]) == scsi.OpUnmap {
		e.Data = append(e.Data, gather(s)...)
	}
	u.Log = append(u.Log, e)
}

// Commands returns the recorded commands with an operation code.
func (u *Unit) Commands(op scsi.Opcode) []Entry {
	var found []Entry
	for _, e := range u.Log {
		if scsi.Opcode(e.CDB[0]) == op {
			found = append(found, e)
		}
	}
	return found
}

// decide says how a command ends.
func (u *Unit) decide(c *Command) *Answer {
	op := scsi.Opcode(c.SRB.CDB[0])
	if a := u.scripts[op]; len(a) > 0 {
		u.scripts[op] = a[1:]
		return a[0]
	}
	if len(u.attend) > 0 && op != scsi.OpInquiry {
		code := u.attend[0]
		u.attend = u.attend[1:]
		return Check(scsi.KeyUnitAttention, code)
	}
	if u.Hook != nil {
		return u.Hook(c)
	}
	return nil
}

func (u *Unit) finish(f *dispatch.Frame, c *Command, a *Answer) {
	s := c.SRB
	if a == nil {
		a = u.decide(c)
	}
	s.Status, s.SCSIStatus, s.Transferred = miniport.StatusSuccess, 0, 0
	if a == nil || a.Execute {
		if sense := u.execute(s); sense.Key != scsi.KeyNoSense {
			a = Sense(sense)
		}
	}
	if a != nil {
		if len(a.Data) > 0 && !a.Execute {
			scatter(s, a.Data, uint64(s.Length))
		}
		s.Status, s.SCSIStatus = a.Status, a.SCSI
		s.Transferred -= min(a.Short, s.Transferred)
		if a.HasSense {
			s.SenseLength = miniport.SenseSize
			s.SenseLength = uint8(a.Sense.Put(s.Sense()))
		}
	}
	u.now--
	u.put(c)
	s.Done(f, s)
}
