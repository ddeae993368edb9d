package srp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"minisrp/verbs"
	"minisrp/verbs/dispatch"
)

// Login makes a session: it connects and logs in the first channel, and as many of the others as the target allows.
// What a target refuses but could take otherwise (the IU length, immediate data, indirect descriptors, several
// channels) is asked for in a smaller way. It ends by ctx or SessionConfig.LoginTimeout, and leaves nothing behind when
// it fails. Events may come before it has returned.
//
// Errors: *RejectError when the target refuses; verbs.ErrNoRoute, verbs.ErrTimeout and others of verbs from the
// connection; ErrLoginResponse; ErrInvalidConfig; ctx's.
func Login(ctx context.Context, cfg *SessionConfig) (*Session, error) {
	s := &Session{cfg: *cfg}
	if err := s.cfg.settle(); err != nil {
		return nil, err
	}
	timed, cancel := context.WithTimeout(ctx, s.cfg.LoginTimeout)
	defer cancel()
	a := firstAsk(&s.cfg)
	for i := range s.cfg.Channels {
		c, err := s.logIn(timed, i, &a)
		if err == nil {
			s.channels = append(s.channels, c)
			continue
		}
		if i == 0 || ctx.Err() != nil {
			return nil, errors.Join(s.loginError(ctx, err), s.dispose())
		}
		s.info.Fewer = err
		break
	}
	s.open()
	if len(s.channels) == 0 {
		return nil, s.info.Fewer
	}
	s.sum()
	return s, nil
}

// loginError says so when it was the timeout that ended the login.
func (s *Session) loginError(ctx context.Context, err error) error {
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return fmt.Errorf("srp: login to %s at %s not done within %v: %w",
			s.cfg.Target, s.cfg.Address, s.cfg.LoginTimeout, verbs.ErrTimeout)
	}
	return err
}

// open lets the channels go. One that broke since its login is dropped.
func (s *Session) open() {
	var up []*Channel
	for _, c := range s.channels {
		var why error
		c.proc.Run(func(f *dispatch.Frame) {
			if c.down.Cause != 0 {
				why = &c.down
				return
			}
			c.state = chanUp
			c.res.cq.Arm(f)
		})
		if why != nil {
			s.info.Fewer = errors.Join(why, c.dispose())
			continue
		}
		up = append(up, c)
	}
	s.channels = up
}

// sum fills in Info from what the channels have agreed on.
func (s *Session) sum() {
	i := &s.info
	c := s.channels[0]
	i.Channels, i.QueueSize, i.MaxCDB, i.Protect = len(s.channels), s.cfg.QueueSize, s.cfg.MaxCDB, s.cfg.Protect
	i.Credits, i.MaxITIULen, i.MaxTIIULen, i.ImmediateData = int(c.initial), c.iuLen, c.recvLen, c.immediate
	i.Formats, i.DescriptorsInIU, i.MaxSegments, i.MaxTransfer = c.formats, c.inline, c.segments, c.transfer
	for _, c := range s.channels[1:] {
		i.Credits = min(i.Credits, int(c.initial))
		i.MaxITIULen = min(i.MaxITIULen, c.iuLen)
		i.MaxTIIULen = max(i.MaxTIIULen, c.recvLen)
		i.ImmediateData = min(i.ImmediateData, c.immediate)
		i.Formats &= c.formats
		i.DescriptorsInIU = min(i.DescriptorsInIU, c.inline)
		i.MaxSegments = min(i.MaxSegments, c.segments)
	}
}

// logIn makes channel i, asking for less as long as the target refuses and there is less to ask for. a is what the
// target took, for the next channel.
func (s *Session) logIn(ctx context.Context, i int, a *ask) (*Channel, error) {
	for {
		c, err := s.dial(ctx, i, a)
		if err == nil {
			return c, nil
		}
		if ctx.Err() != nil || !a.less(err) {
			return nil, err
		}
	}
}

// dial makes one attempt.
func (s *Session) dial(ctx context.Context, i int, a *ask) (*Channel, error) {
	c := s.newChannel(i)
	err := c.make(ctx, a)
	if err == nil {
		err = c.connect(ctx, a)
	}
	if err == nil {
		err = c.makeWindows(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, c.dispose())
	}
	return c, nil
}

// newChannel makes a channel that has nothing of the device's yet.
func (s *Session) newChannel(i int) *Channel {
	p := s.cfg.Processors[i%len(s.cfg.Processors)]
	c := &Channel{sess: s, index: i, proc: p, ready: s.cfg.Ready, event: s.cfg.Event, ended: make(chan struct{})}
	c.more.Init(p, c.runMore)
	c.later.Init(p, c.runLater)
	c.errored, c.closed = c.runErrored, c.runClosed
	c.slots = make([]slot, s.cfg.QueueSize)
	c.tasks = make([]taskSlot, taskSlots)
	c.pieces = make([]piece, 0, s.cfg.MaxSegments)
	c.wrs = make([]verbs.WR, s.cfg.MaxSegments+1)
	c.inv = make([]verbs.WR, 0, max(pollBatch, s.cfg.MaxSegments))
	c.recvs = make([]verbs.RecvWR, 0, pollBatch)
	return c
}

// make makes what is needed to connect: queues, buffers, and receives, which have to be there before the target may
// send.
func (c *Channel) make(ctx context.Context, a *ask) error {
	cfg, r := &c.sess.cfg, &c.res
	headLen := a.headLen()
	if err := r.makeMemory(ctx, cfg, headLen, a.recvLen); err != nil {
		return err
	}
	txLen := round(headLen, cacheLine)
	for i := len(c.slots) - 1; i >= 0; i-- {
		s := &c.slots[i]
		s.index = uint16(i)
		s.tx, s.txAddr = r.mem[i*txLen:][:headLen], r.addr+uint64(i*txLen)
		c.free.push(s)
	}
	for i := range c.tasks {
		at := len(c.slots)*txLen + i*cacheLine
		c.tasks[i].tx, c.tasks[i].txAddr = r.mem[at:][:TaskManagementLen], r.addr+uint64(at)
	}
	if err := c.makeTables(ctx); err != nil {
		return err
	}
	d := cfg.Device.Attr()
	r.sges = int(min(d.MaxSGE, verbs.MaxSGE))
	var err error
	cqAttr := &verbs.CQAttr{
		Entries: uint32(cfg.sends() + cfg.receives() + 1), Vector: c.index % d.CompletionVectors,
		Processor: c.proc, Notify: c.notified,
	}
	if r.cq, err = wait(ctx, func(op *verbs.Op[*verbs.CQ]) { cfg.Device.CreateCQ(op, cqAttr) }); err != nil {
		return err
	}
	qpAttr := &verbs.QPAttr{
		SendCQ: r.cq, RecvCQ: r.cq, MaxSend: uint32(cfg.sends()), MaxRecv: uint32(cfg.receives() + 1), MaxSGE: uint32(r.sges),
		Access: verbs.RemoteRead | verbs.RemoteWrite, Event: c.qpEvent,
	}
	if r.qp, err = wait(ctx, func(op *verbs.Op[*verbs.QP]) { cfg.PD.CreateQP(op, qpAttr) }); err != nil {
		return err
	}
	if _, err = wait(ctx, func(op *verbs.Op[verbs.None]) { r.qp.Modify(op, verbs.Init) }); err != nil {
		return err
	}
	c.proc.Run(func(f *dispatch.Frame) {
		for i := range cfg.receives() {
			if err == nil {
				_, err = r.qp.PostRecv(f, []verbs.RecvWR{r.recv(uint32(i))})
			}
		}
	})
	return err
}

// makeTables makes the memory for descriptor tables, or for bounced data.
func (c *Channel) makeTables(ctx context.Context) error {
	cfg, r := &c.sess.cfg, &c.res
	if cfg.Protect == ProtectBounce {
		for i := range c.slots {
			for d, access := range [2]verbs.Access{verbs.LocalWrite | verbs.RemoteWrite, verbs.RemoteRead} {
				g, err := r.register(ctx, cfg.PD, cfg.BounceSize, access)
				if err != nil {
					return err
				}
				c.slots[i].bounce[d] = bounce{g.arena.Bytes()[:cfg.BounceSize], g.arena.Addr(), g.mr.LKey(), g.mr.RKey()}
			}
		}
		return nil
	}
	if cfg.MaxSegments < 2 {
		return nil
	}
	n := cfg.MaxSegments * DescLen
	g, err := r.register(ctx, cfg.PD, len(c.slots)*n, verbs.RemoteRead)
	if err != nil {
		return err
	}
	r.tableKey = g.mr.RKey()
	for i := range c.slots {
		c.slots[i].table = DescList(g.arena.Bytes()[i*n : i*n : (i+1)*n])
		c.slots[i].tableAddr = g.arena.Addr() + uint64(i*n)
	}
	return nil
}

// connect connects and logs in.
func (c *Channel) connect(ctx context.Context, a *ask) error {
	cfg := &c.sess.cfg
	req := a.request(cfg, c.index > 0)
	private := make([]byte, LoginReqLen)
	n, err := 0, error(nil)
	if cfg.Address.IsRDMA() {
		n, err = req.EncodeRDMACM(private)
	} else {
		n, err = req.Encode(private)
	}
	if err != nil {
		return err
	}
	attr := &verbs.ConnectAttr{
		Address: cfg.Address, Private: private[:n],
		ReadsAnswered: min(readsAnswered, cfg.Device.Attr().MaxReadAtomic), RetryCount: cfg.RetryCount, RNRRetry: rnrForEver,
	}
	if end, ok := ctx.Deadline(); ok {
		attr.Timeout = max(time.Millisecond, time.Until(end))
	}
	reply, err := wait(ctx, func(op *verbs.Op[verbs.ConnectReply]) { c.res.qp.Connect(op, attr) })
	if err != nil {
		return rejected(err, cfg, c.index, &req)
	}
	var rsp LoginRsp
	if err := rsp.Decode(reply.Private()); err != nil {
		return fmt.Errorf("%w: %w", ErrLoginResponse, err)
	}
	if c.agreed, err = a.agree(cfg, &rsp); err != nil {
		return err
	}
	c.credit = credits{avail: int64(c.initial), least: int64(c.initial)}
	return nil
}

// makeWindows makes the windows of the slots, all at a time.
func (c *Channel) makeWindows(ctx context.Context) error {
	if c.sess.cfg.Protect != ProtectIO {
		return nil
	}
	n := c.segments
	ops := make([]verbs.Op[*verbs.MW], len(c.slots)*n)
	for i := range ops {
		c.sess.cfg.PD.AllocMW(&ops[i])
	}
	all := make([]window, len(ops))
	var failed error
	for i := range ops {
		w, err := ops[i].Wait(ctx)
		if err != nil {
			failed = err
			continue
		}
		c.res.mws = append(c.res.mws, w)
		all[i] = window{handle: w.Handle(), key: w.RKey()}
	}
	for i := range c.slots {
		c.slots[i].windows = all[i*n : (i+1)*n : (i+1)*n]
	}
	return failed
}

// dispose closes what a channel has of the device's. No callback comes any more.
//
//level:passive
func (c *Channel) dispose() error {
	err := c.res.dispose(c.qpClosed)
	c.proc.Run(func(f *dispatch.Frame) {}) // what the channel itself has queued has run
	return err
}

//level:passive
func (s *Session) dispose() error {
	var errs []error
	for _, c := range s.channels {
		errs = append(errs, c.dispose())
	}
	return errors.Join(errs...)
}
