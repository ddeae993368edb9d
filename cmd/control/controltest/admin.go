package controltest

import (
	"context"
	"sync"
	"time"

	"minisrp/cmd/control"
)

// Admin answers requests with what it holds, or with Err, after the events that it holds. It keeps the requests.
//
// Ownership: what is exported is set before it is used.
type Admin struct {
	Events []control.Event
	Change control.Change
	Answer control.SCSIAnswer
	Tasks  control.TaskAnswer
	Hosted control.Hosted
	Loss   control.Loss
	Err    error
	// Hold keeps every answer until it is closed or the request's context ends; nil does not.
	Hold chan struct{}

	mu    sync.Mutex
	asked []any
}

// Asked returns the requests that have come, pointers to the types of package control.
func (a *Admin) Asked() []any {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]any{}, a.asked...)
}

func reply[A any](ctx context.Context, a *Admin, q any, p control.Progress, v *A) (*A, error) {
	a.mu.Lock()
	a.asked = append(a.asked, q)
	a.mu.Unlock()
	for _, e := range a.Events {
		if p != nil {
			p(e)
		}
	}
	if a.Hold != nil {
		select {
		case <-a.Hold:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if a.Err != nil {
		return nil, a.Err
	}
	return v, nil
}

// Add implements control.Admin.
func (a *Admin) Add(ctx context.Context, q *control.AddTarget, p control.Progress) (*control.Change, error) {
	return reply(ctx, a, q, p, &a.Change)
}

// Remove implements control.Admin.
func (a *Admin) Remove(ctx context.Context, q *control.RemoveTarget, p control.Progress) (*control.Change, error) {
	return reply(ctx, a, q, p, &a.Change)
}

// Rescan implements control.Admin.
func (a *Admin) Rescan(ctx context.Context, q *control.Rescan, p control.Progress) (*control.Change, error) {
	return reply(ctx, a, q, p, &a.Change)
}

// Logout implements control.Admin.
func (a *Admin) Logout(ctx context.Context, q *control.Logout, p control.Progress) (*control.Change, error) {
	return reply(ctx, a, q, p, &a.Change)
}

// Reconnect implements control.Admin.
func (a *Admin) Reconnect(ctx context.Context, q *control.Reconnect, p control.Progress) (*control.Change, error) {
	return reply(ctx, a, q, p, &a.Change)
}

// SCSI implements control.Admin.
func (a *Admin) SCSI(ctx context.Context, q *control.SCSI, p control.Progress) (*control.SCSIAnswer, error) {
	return reply(ctx, a, q, p, &a.Answer)
}

// Task implements control.Admin.
func (a *Admin) Task(ctx context.Context, q *control.Task, p control.Progress) (*control.TaskAnswer, error) {
	return reply(ctx, a, q, p, &a.Tasks)
}

// SetFaults implements control.Admin.
func (a *Admin) SetFaults(ctx context.Context, q *control.SetFaults, p control.Progress) (*control.Hosted, error) {
	return reply(ctx, a, q, p, &a.Hosted)
}

// AcceptLoss implements control.Admin.
func (a *Admin) AcceptLoss(ctx context.Context, q *control.AcceptLoss, p control.Progress) (*control.Loss, error) {
	return reply(ctx, a, q, p, &a.Loss)
}

// FullAdmin returns one with an answer of every kind.
func FullAdmin() *Admin {
	at := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	return &Admin{
		Events: []control.Event{
			{Time: at, Stage: "login", Target: "far", Text: "logging in to 192.0.2.9:5555"},
			{Time: at.Add(time.Second), Stage: "scan", Target: "far", Text: "asking for its units"},
		},
		Change: control.Change{
			Version: control.Version, Changed: true, Text: "target far: logged in and kept", Targets: []string{"far"},
			Came: []control.UnitPath{{Identity: "naa.6000000000000003", Name: "disk1", Target: "far", LUN: "0"}},
			Went: []control.UnitPath{}, Failed: []string{},
		},
		Answer: control.SCSIAnswer{
			Version: control.Version, Target: "embedded", LUN: "0", Command: "INQUIRY", Status: 2, StatusText: "CHECK CONDITION",
			Data: control.Hex{}, Residual: 96,
			Sense: &control.Sense{
				Raw: control.Hex{0x70, 0, 5, 0, 0, 0, 0, 0x0a, 0, 0, 0, 0, 0x24, 0, 0, 0, 0, 0},
				Key: 5, KeyText: "ILLEGAL REQUEST", ASC: 0x24, Text: "ILLEGAL REQUEST, INVALID FIELD IN CDB (24h/00h)",
			},
		},
		Tasks: control.TaskAnswer{
			Version: control.Version,
			Paths:   []control.TaskPath{{Target: "embedded", LUN: "0", Done: true, Response: "TASK MANAGEMENT FUNCTION COMPLETE", Aborted: 3}},
		},
		Hosted: control.Hosted{Version: control.Version, Targets: []control.HostedTarget{Hosted()}},
		Loss:   control.Loss{Version: control.Version, Export: "disk0", Lost: true},
	}
}
