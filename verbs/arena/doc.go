// Package arena allocates memory that devices may reach: it does not move, is
// present before the first access, and stays until Close, which comes after the
// device that knows it is closed. It must not know who uses it.
//
// # Ownership
//
// An arena belongs to whoever made it. Its bytes are shared with devices; who may
// touch which part when is the owner's agreement with them.
//
// # Levels
//
// New and Close are Passive; the rest computes.
//
// # Memory
//
// Arenas are mapped anonymously in huge pages that the administrator has set aside, else in
// ordinary pages, or if they are large in transparent huge pages where the kernel has them; prefaulted, and locked
// where allowed; Info tells what was granted. Those that Reserve makes are only addresses at first: their owner has
// parts of them made present before it uses them, outside Dispatch, and gives
// them back. Under the race detector, which does not see mapped memory, they are Go
// heap, so that races on them are found.
package arena
