// Package control is what a daemon and its tools say to each other: HTTP and JSON over a unix socket. It must not know
// where what it tells comes from.
//
//	GET /v1/daemon      Daemon     who serves, since when, where its exports are
//	GET /v1/targets     Targets    target ports, their sessions and channels
//	GET /v1/units       Units      logical units, their disks and paths
//	GET /v1/counters    Counters   what has been counted, by layer
//	GET /v1/latencies   Latencies  how long requests took, by disk
//	GET /v1/clients     Clients    who is connected to the NBD server
//	GET /v1/hosted      Hosted     targets in the daemon's process, who is logged in there, what they do wrong on purpose
//
//	POST /v1/add          AddTarget     Change      log in to a target port, and after a restart again
//	POST /v1/remove       RemoveTarget  Change      log out, and forget it
//	POST /v1/rescan       Rescan        Change      look for units
//	POST /v1/logout       Logout        Change      end a session, keep the target
//	POST /v1/reconnect    Reconnect     Change      log in again
//	POST /v1/scsi         SCSI          SCSIAnswer  send one command, of those that are harmless
//	POST /v1/task         Task          TaskAnswer  a task management function
//	POST /v1/faults       SetFaults     Hosted      what a target in the process does wrong
//	POST /v1/accept-loss  AcceptLoss    Loss        have the flushes of a disk that has lost writes succeed again
//
// Every request with a body, and every answer, has the number of this format, Version, which grows when a field changes
// its meaning or goes away; new fields of answers may come at any time. An error is an Error object with an HTTP status
// other than 200; its code stands for an exit code.
//
// # Progress
//
// To a POST with "Accept: application/x-ndjson" the answer is a stream of Line objects, a line each: events, as they
// happen, and last the answer or the error. What is asked for takes no longer than ten minutes, and is given up when the
// peer closes the connection, as far as it can be: what has been done stays done.
//
// # Ownership
//
// A Server serves until Shutdown, which ends the context of changes that are under way, and waits for its goroutines but
// for those of net/http that linger for half a second after a request that was none. A Client has no goroutine and one
// connection a call.
//
// # Levels
//
// All of it is Passive.
//
// # Access
//
// Only processes of the server's own user, of root and of the one group that AllowGroup names are answered, whatever the
// permissions of the socket: the kernel says who they are. There is no right to read alone: who may see the targets may
// change them. Who is to see figures only gets them as metrics.
//
// # Errors
//
// The client's errors have exit codes (package exitcode): those that the daemon's have, and NoDaemon, Denied, NotFound
// and Failure of its own.
//
// # Testing
//
// A client and a server talk about a fixed source; golden files hold the JSON. Other tests break the protocol; a
// fuzz test feeds the decoder of requests.
package control
