// Package guest boots srpd in a virtual machine, to take its power away: Debian's kernel
// under QEMU's software emulation, with an init of this module's own and one disk whose
// writes bypass the host's cache.
//
// # Ownership
//
// A Machine is a recipe: files and a command line. Who starts the command ends it.
//
// # Levels
//
// Everything is Passive.
//
// # Testing
//
// The kernel comes from Debian's package of Linux 6.12, fetched by apt into the user's
// cache once. TestPowerCut skips, and says so, where QEMU, apt-get or dpkg-deb are absent;
// with CI=true that is a failure.
package guest
