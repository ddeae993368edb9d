package daemon

import (
	"context"
	"errors"

	"minisrp/cmd/control"
)

// admin does what the control socket asks for.
type admin struct{ d *Daemon }

var _ control.Admin = (*admin)(nil)

var errNotYet = errors.New("not implemented")

// Add implements control.Admin.
func (a *admin) Add(context.Context, *control.AddTarget, control.Progress) (*control.Change, error) {
	return nil, errNotYet
}

// Remove implements control.Admin.
func (a *admin) Remove(context.Context, *control.RemoveTarget, control.Progress) (*control.Change, error) {
	return nil, errNotYet
}

// Rescan implements control.Admin.
func (a *admin) Rescan(context.Context, *control.Rescan, control.Progress) (*control.Change, error) {
	return nil, errNotYet
}

// Logout implements control.Admin.
func (a *admin) Logout(context.Context, *control.Logout, control.Progress) (*control.Change, error) {
	return nil, errNotYet
}

// Reconnect implements control.Admin.
func (a *admin) Reconnect(context.Context, *control.Reconnect, control.Progress) (*control.Change, error) {
	return nil, errNotYet
}

// SCSI implements control.Admin.
func (a *admin) SCSI(context.Context, *control.SCSI, control.Progress) (*control.SCSIAnswer, error) {
	return nil, errNotYet
}

// Task implements control.Admin.
func (a *admin) Task(context.Context, *control.Task, control.Progress) (*control.TaskAnswer, error) {
	return nil, errNotYet
}

// SetFaults implements control.Admin.
func (a *admin) SetFaults(context.Context, *control.SetFaults, control.Progress) (*control.Hosted, error) {
	return nil, errNotYet
}

// AcceptLoss implements control.Admin.
func (a *admin) AcceptLoss(context.Context, *control.AcceptLoss, control.Progress) (*control.Loss, error) {
	return nil, errNotYet
}
