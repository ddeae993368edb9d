package main

import (
	"context"
	"fmt"

	"minisrp/cmd/control"
	"minisrp/cmd/exitcode"
	"minisrp/scsi"
	"minisrp/srp"
)

// conflict makes of a RESERVATION CONFLICT, which says nothing more, the reason for it, as far as the unit's full status
// tells. v is the unit's answer to q; err is returned if nothing more is known.
func (o *options) conflict(ctx context.Context, c *control.Client, name string, v *control.SCSIAnswer, q *scsi.ReserveOut, list *scsi.ReserveList, err error) error {
	all, ours, serr := o.registered(ctx, c, v)
	if serr != nil {
		return err
	}
	var holder, mine *scsi.FullStatus
	ousted := false // the key that is to be preempted is somebody's
	for i := range all {
		s := &all[i]
		if s.Holder && (holder == nil || s.Initiator == ours) {
			holder = s
		}
		if s.Initiator == ours && (mine == nil || s.Key == list.Key) {
			mine = s
		}
		ousted = ousted || s.Key == list.ServiceKey
	}
	because := func(code exitcode.Code, advice, format string, args ...any) error {
		return &exitcode.Error{Code: code, Err: fmt.Errorf("%w: %s", err, fmt.Sprintf(format, args...)), Advice: advice}
	}
	switch {
	case mine == nil && q.Action == scsi.SARegister:
		return because(exitcode.Usage, "leave --key out to register a first key", "this daemon is not registered, and has no key 0x%x", list.Key)
	case mine == nil:
		return because(exitcode.Failure, fmt.Sprintf("srpctl pr register %s --new-key %x first", name, max(1, list.Key)), "this daemon is not registered")
	case mine.Key != list.Key:
		return because(exitcode.Usage, fmt.Sprintf("give --key %x", mine.Key), "this daemon is registered with the key 0x%x, not 0x%x", mine.Key, list.Key)
	case (q.Action == scsi.SAPreempt || q.Action == scsi.SAPreemptAbort) && !ousted:
		return because(exitcode.NotFound, "see: srpctl pr keys "+name, "nobody is registered with the key 0x%x", list.ServiceKey)
	case holder == nil:
		return err
	case holder.Initiator == ours:
		return because(exitcode.Failure, fmt.Sprintf("srpctl pr release %s --key %x --type %d first", name, holder.Key, holder.Type),
			"this daemon has reserved it already, with the type %s", holder.Type)
	}
	return because(exitcode.Conflict, fmt.Sprintf("srpctl pr preempt %s takes it over", name),
		"initiator port 0x%x, with the key 0x%x, has reserved it: %s", holder.Initiator, holder.Key, holder.Type)
}

// registered returns who is registered at the unit that has answered, and which initiator port is the daemon's there.
func (o *options) registered(ctx context.Context, c *control.Client, v *control.SCSIAnswer) (all []scsi.FullStatus, ours [16]byte, err error) {
	targets, err := c.Targets(ctx)
	if err != nil {
		return nil, ours, err
	}
	if err := chooseTargets(targets, []string{v.Target}); err != nil {
		return nil, ours, err
	}
	port, err := srp.ParsePortID(targets.Targets[0].Initiator)
	if err != nil {
		return nil, ours, err
	}
	in := scsi.ReserveIn{Action: scsi.SAReadFullStatus, AllocationLength: maxReserve}
	x, err := o.send(ctx, c, v.Target+"/"+v.LUN, in.Put, nil, maxReserve)
	if err != nil {
		return nil, ours, err
	}
	_, body, _, err := scsi.ParseReserveHeader(x.Data)
	for len(body) > 0 && err == nil {
		var s scsi.FullStatus
		if s, body, err = scsi.NextFullStatus(body); err == nil {
			all = append(all, s)
		}
	}
	return all, port, err
}
