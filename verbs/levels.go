package verbs

import "minisrp/verbs/dispatch"

// levels is the proof that what the package's table calls "both" may be started at
// Dispatch: test/levelcheck reads it, nothing calls it.
var _ = levels

func levels(f *dispatch.Frame, d *Device, pd *PD, cq *CQ, qp *QP, r *ConnectRequest, then ThenFunc[None]) {
	d.CreatePD(new(Op[*PD]))
	d.CreateCQ(new(Op[*CQ]), &CQAttr{})
	d.Listen(new(Op[*Listener]), &ListenAttr{})
	pd.RegisterMR(new(Op[*MR]), &MRAttr{})
	pd.AllocMW(new(Op[*MW]))
	pd.CreateQP(new(Op[*QP]), &QPAttr{})
	qp.Connect(new(Op[ConnectReply]), &ConnectAttr{})
	qp.Accept(new(Op[None]), &AcceptAttr{Request: r})
	r.Reject(RejectConsumer, nil)

	var op Op[None]
	qp.Modify(&op, Error)
	qp.Disconnect(&op)
	cq.Close(&op)
	op.Then(then)
	op.Forget()

	_ = qp.State()
	qp.Connected(ConnectReply{})
	qp.ConnectFailed(ErrTimeout)
	qp.AcceptDone(nil)
	qp.DisconnectDone()
	qp.Notify(QPFatal)
	d.Raise(PortUp)
}
