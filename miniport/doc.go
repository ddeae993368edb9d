// Package miniport is the port driver and the SRP miniport beneath it: it takes
// SCSI requests for units, queues them, and issues them as SRP commands from
// entry points that run at Dispatch.
package miniport
