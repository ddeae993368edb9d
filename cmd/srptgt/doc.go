// Command srptgt is the SRP target alone.
//
// What this build has is srptgt check: it makes a target of units, groups and faults that are given as options, and
// tries it out in the process, logging in as one initiator or several, through two software HCAs and the whole stack.
// Other hosts cannot log in: the software HCA of this build has no network (RoCEv2), and a target that nobody can reach
// is not served. What serves disks to programs on this host is srpd run --embedded.
//
// # Ownership
//
// main makes what a command needs, and ends it before it returns.
//
// # Exit codes
//
// Those of package exitcode: Usage for what the options say, InUse, NotFound and Denied for files, Rejected when an
// initiator was refused, Unreachable when it got no answer, Unusable when it could not use a unit.
//
// # Testing
//
// Commands run in the process; golden files hold what they print.
package main
