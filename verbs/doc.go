// Package verbs is the interface to RDMA devices: devices, protection domains,
// memory regions and windows, completion queues, reliable-connected queue pairs,
// and the connection manager. It must not know what protocol runs on top.
//
// # Levels
//
// Every verb is classified. What never blocks (Post, PostRecv, Poll, Arm, Ring) takes
// a Frame and is called at Dispatch. What may need thread context is an Op: it can
// be started at both levels, the device's worker does the blocking part, and the
// result comes back by a call at Dispatch (Then) or to a Passive waiter (Wait). So no
// consumer owns a thread in order to be allowed to talk to a device.
//
// The rules of operations:
//
//  1. Then runs exactly once and always later, also when the result is already
//     known. Then, Wait and Forget exclude each other. When the context of Wait
//     ends, the layer closes what is created afterwards.
//  2. After it has started a completion the layer does not touch the object: the
//     callback may close it.
//  3. Close never fails; it cancels or flushes what is pending, and its completion
//     is the object's last.
//  4. Closing a parent before its children is legal and stays pending until the
//     last child's close callback has returned. Device.Close guarantees that no
//     callback frame is left.
//  5. One CQ notification an arm; arming with unseen completions fires at once.
//  6. A post that is not accepted has no completion.
//  7. No lock is held across a call-out or a cgo call.
//
// # Methods
//
//	method             libibverbs, librdmacm          level     who blocks
//	Open               ibv_open_device                Passive   caller
//	Device.Close       ibv_close_device               Passive   caller
//	CreatePD           ibv_alloc_pd                   both      worker
//	RegisterMR         ibv_reg_mr                     both      worker
//	AllocMW            ibv_alloc_mw                   both      worker
//	CreateCQ           ibv_create_cq                  both      worker
//	CreateQP           ibv_create_qp, rdma_create_qp  both      worker
//	Modify             ibv_modify_qp                  both      worker
//	Close              ibv_dereg_mr, ibv_dealloc_mw,  both      worker
//	                   ibv_destroy_cq, _qp, _pd
//	Post               ibv_post_send                  Dispatch  nobody
//	PostRecv           ibv_post_recv                  Dispatch  nobody
//	Ring               the end of ibv_post_send       Dispatch  nobody
//	Poll               ibv_poll_cq                    Dispatch  nobody
//	Arm                ibv_req_notify_cq              Dispatch  nobody
//	BindWindow         ibv_bind_mw as a request       Dispatch  nobody
//	LocalInv           IBV_WR_LOCAL_INV               Dispatch  nobody
//	Connect            rdma_resolve_addr, _route,     both      worker, then nobody
//	                   rdma_connect; ib_cm REQ, RTU
//	Listen             rdma_listen                    both      worker
//	Accept             rdma_accept; ib_cm REP         both      worker, then nobody
//	Reject             rdma_reject; ib_cm REJ         both      nobody
//	Disconnect         rdma_disconnect; ib_cm DREQ    both      worker, then nobody
//	events             ibv_get_async_event,           Dispatch  the provider's thread
//	                   rdma_get_cm_event
//
// # Ownership
//
// A QP and its CQs belong to one processor: their data-path methods are called only
// by a frame that owns it, and every callback of theirs runs there. Attributes
// passed by pointer are the caller's and stay unchanged until the operation ends.
// Work requests hold no Go pointers; memory that they name lies in arenas, which
// outlive the regions made of them.
//
// # Errors
//
// An OpError wraps one of the package's sentinels or a RejectError. What happens to
// a posted work request is told by its WC.
//
// # Testing
//
// Package verbstest has a device without a fabric, for testing consumers, and one
// shaped like a cgo provider. Package soft is a whole HCA in software.
//
// # Clauses
//
// InfiniBand Architecture Specification 1.x, chapters 10 (verbs), 11 (operations),
// 12 (communication management); annex A11 (RDMA IP CM service).
package verbs
