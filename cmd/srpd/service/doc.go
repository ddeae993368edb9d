// Package service tells systemd how the daemon is: starting, ready, stopping, and, time and again, alive. It must not
// decide any of it. Without systemd it does nothing.
//
// # Ownership
//
// A Manager is its maker's. Watch starts a goroutine that Stopping ends and waits for.
//
// # Levels
//
// Passive.
//
// # State machine
//
//	starting   Ready      running: READY=1
//	running    Watch      watched: WATCHDOG=1 while the check succeeds, twice as often as systemd wants
//	any        Stopping   stopping: STOPPING=1; systemd waits for as long as the unit file says
//
// # Errors
//
// None: what systemd cannot be told is logged, and the daemon runs on.
//
// # Testing
//
// A socket in the place of systemd's takes what is told. The unit files of cmd/srpd/systemd are verified and rated by
// systemd-analyze.
//
// # Clauses
//
// sd_notify(3), sd_watchdog_enabled(3).
package service
