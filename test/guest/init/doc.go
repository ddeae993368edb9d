// Command init is the first program of the guest: it loads what the disk and the
// network need, and runs srpd on them. It is no use outside a guest.
package main
