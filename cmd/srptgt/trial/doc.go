// Package trial logs in to a target in the process, as each of several initiators, and says what each of them gets. It
// must not change what is on the units.
//
// What it does, an initiator port does: the whole stack from the disk class driver down to the software HCA.
//
// # Ownership
//
// Run starts everything that it needs but the target, and ends it.
//
// # Levels
//
// Run is Passive.
//
// # Errors
//
// What an initiator meets stands in its report. Run fails only when ctx ends, or its own parts cannot be made.
//
// # Testing
//
// Trials of targets with groups, closed ones, and such as go wrong, on fixed reports.
package trial
