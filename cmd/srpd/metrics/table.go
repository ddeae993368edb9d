package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"minisrp/cmd/control"
	"minisrp/cmd/srpd/nbd"
)

// figure is a metric of each T.
type figure[T any] struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	of   func(*T) []sample
}

// sample is a value with the labels that it has beside those of its T.
type sample struct {
	value  float64
	labels []string
}

// counter makes a figure that only grows.
func counter[T any](name, help string, labels []string, of func(*T) uint64) figure[T] {
	return figure[T]{prometheus.NewDesc("minisrp_"+name+"_total", help, labels, nil), prometheus.CounterValue,
		func(t *T) []sample { return []sample{{value: float64(of(t))}} }}
}

// counters makes one with a value for each of several words.
func counters[T any](name, help string, labels []string, of func(*T) map[string]uint64) figure[T] {
	return figure[T]{prometheus.NewDesc("minisrp_"+name+"_total", help, labels, nil), prometheus.CounterValue,
		func(t *T) (all []sample) {
			for word, n := range of(t) {
				all = append(all, sample{float64(n), []string{word}})
			}
			return all
		}}
}

// gauge makes a figure that grows and shrinks.
func gauge[T any](name, help string, labels []string, of func(*T) float64) figure[T] {
	return figure[T]{prometheus.NewDesc("minisrp_"+name, help, labels, nil), prometheus.GaugeValue,
		func(t *T) []sample { return []sample{{value: of(t)}} }}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

type (
	export    = nbd.ExportStats
	disk      = control.DiskStats
	unit      = control.Unit
	port      = control.UnitStats
	target    = control.Target
	channel   = control.Channel
	processor = control.Processor
	hca       = control.HCA
)

// The tables. Labels: export, disk and target are names, as srpctl has them; channel and hca_port are numbers.
var (
	ofExport    = []string{"export"}
	ofDisk      = []string{"disk"}
	ofTarget    = []string{"target"}
	ofChannel   = []string{"target", "channel"}
	ofProcessor = []string{"processor"}
)

func with(labels []string, more string) []string { return append(append([]string{}, labels...), more) }

func exportFigures() []figure[export] {
	return []figure[export]{
		gauge("nbd_connections", "Clients that are connected to an export.", ofExport, func(e *export) float64 { return float64(e.Connections) }),
		counter("nbd_accepted", "Clients that have begun to send requests.", ofExport, func(e *export) uint64 { return e.Accepted }),
		counter("nbd_broken", "Connections that ended because the client left the protocol.", ofExport, func(e *export) uint64 { return e.Broken }),
		counters("nbd_requests", "Requests, by operation.", with(ofExport, "operation"), func(e *export) map[string]uint64 {
			return map[string]uint64{"read": e.Reads, "write": e.Writes, "flush": e.Flushes, "trim": e.Trims, "write_zeroes": e.Zeroes,
				"block_status": e.Statuses, "cache": e.Caches}
		}),
		counters("nbd_bytes", "Bytes of data, by operation.", with(ofExport, "operation"), func(e *export) map[string]uint64 {
			return map[string]uint64{"read": e.BytesRead, "write": e.BytesWritten}
		}),
		counter("nbd_errors", "Replies that were errors.", ofExport, func(e *export) uint64 { return e.Errors }),
		counter("nbd_replies", "Replies.", ofExport, func(e *export) uint64 { return e.Replies }),
		counter("nbd_reply_batches", "Groups of replies that were sent together.", ofExport, func(e *export) uint64 { return e.Batches }),
	}
}

func diskFigures() []figure[disk] {
	ops := func(d *disk) map[string]control.OpStats {
		return map[string]control.OpStats{"read": d.Read, "write": d.Write, "flush": d.Flush, "unmap": d.Unmap, "write_zeroes": d.WriteZeroes}
	}
	each := func(pick func(control.OpStats) uint64) func(*disk) map[string]uint64 {
		return func(d *disk) map[string]uint64 {
			m := map[string]uint64{}
			for name, o := range ops(d) {
				m[name] = pick(o)
			}
			return m
		}
	}
	of := with(ofDisk, "operation")
	return []figure[disk]{
		counters("disk_operations", "Operations on a disk that have ended.", of, each(func(o control.OpStats) uint64 { return o.Ops })),
		counters("disk_bytes", "Bytes of the operations on a disk.", of, each(func(o control.OpStats) uint64 { return o.Bytes })),
		counters("disk_operation_errors", "Operations on a disk that have failed.", of, each(func(o control.OpStats) uint64 { return o.Errors })),
		counter("disk_waits", "Requests that found no command free.", ofDisk, func(d *disk) uint64 { return d.Waits }),
		counter("disk_commands", "SCSI commands sent.", ofDisk, func(d *disk) uint64 { return d.Commands }),
		counter("disk_commands_completed", "SCSI commands that have ended.", ofDisk, func(d *disk) uint64 { return d.Completed }),
		counters("disk_commands_not_good", "SCSI commands that have not ended well, by what became of them.", with(ofDisk, "outcome"),
			func(d *disk) map[string]uint64 { return d.NotGood }),
	}
}

func unitFigures() []figure[unit] {
	return []figure[unit]{
		gauge("disk_served", "Whether a unit is served as a disk.", ofDisk, func(u *unit) float64 { return truth(u.Disk != nil) }),
		gauge("disk_paths", "Ways to a unit.", ofDisk, func(u *unit) float64 { return float64(len(u.Paths)) }),
		gauge("disk_size_bytes", "Capacity; 0 if it is not served.", ofDisk, func(u *unit) float64 {
			if u.Disk == nil {
				return 0
			}
			return float64(u.Disk.Size)
		}),
	}
}

func portFigures() []figure[port] {
	return []figure[port]{
		counter("port_commands_completed", "Commands of a unit that have left the port driver.", ofDisk, func(p *port) uint64 { return p.Completed }),
		counter("port_queue_full", "TASK SET FULL statuses.", ofDisk, func(p *port) uint64 { return p.QueueFull }),
		counter("port_aborts", "Commands that were aborted.", ofDisk, func(p *port) uint64 { return p.Aborts }),
		counter("port_resets", "Resets of a unit.", ofDisk, func(p *port) uint64 { return p.Resets }),
		gauge("port_commands_in_flight", "Commands that a unit has.", ofDisk, func(p *port) float64 { return float64(p.InFlight) }),
		gauge("port_queue_depth", "Commands that a unit is given at most.", ofDisk, func(p *port) float64 { return float64(p.Depth) }),
	}
}

func targetFigures() []figure[target] {
	return []figure[target]{
		gauge("target_up", "Whether there is a session with a target.", ofTarget, func(t *target) float64 { return truth(t.State == "up") }),
		gauge("target_lost", "Whether a target has been away for longer than it is waited for.", ofTarget, func(t *target) float64 { return truth(t.Lost) }),
		counter("target_logins", "Logins that have succeeded.", ofTarget, func(t *target) uint64 { return t.Logins }),
		gauge("target_channels", "Channels of the session.", ofTarget, func(t *target) float64 { return float64(len(t.Channels)) }),
	}
}

func channelFigures() []figure[channel] {
	one := func(name, help string, of func(*channel) uint64) figure[channel] {
		return counter("channel_"+name, help, ofChannel, of)
	}
	return []figure[channel]{
		one("commands", "Commands sent.", func(c *channel) uint64 { return c.Commands }),
		one("responses", "Responses to commands.", func(c *channel) uint64 { return c.Responses }),
		one("busy", "Commands refused for want of credits or room.", func(c *channel) uint64 { return c.Busy }),
		one("tasks", "Task management requests sent.", func(c *channel) uint64 { return c.Tasks }),
		one("task_responses", "Responses to task management requests.", func(c *channel) uint64 { return c.TaskResponses }),
		one("abandoned", "Commands that were given up.", func(c *channel) uint64 { return c.Abandoned }),
		one("late", "Responses to what had ended.", func(c *channel) uint64 { return c.Late }),
		one("unknown_tags", "Responses to what was never sent.", func(c *channel) uint64 { return c.UnknownTags }),
		one("unknown_ius", "Information units of no known type.", func(c *channel) uint64 { return c.UnknownIUs }),
		one("credit_requests", "Credit requests of the target.", func(c *channel) uint64 { return c.CreditReqs }),
		one("async_events", "Asynchronous event requests of the target.", func(c *channel) uint64 { return c.AsyncEvents }),
		one("received_bytes", "Bytes that came from the target.", func(c *channel) uint64 { return c.BytesIn }),
		one("sent_bytes", "Bytes that went to the target.", func(c *channel) uint64 { return c.BytesOut }),
		one("immediate_bytes", "Those of the bytes sent that travelled in the command.", func(c *channel) uint64 { return c.Immediate }),
		one("copied_bytes", "Bytes copied on the way.", func(c *channel) uint64 { return c.Copied }),
		one("polls", "Polls of the completion queue.", func(c *channel) uint64 { return c.Polls }),
		one("idle_polls", "Polls that found nothing.", func(c *channel) uint64 { return c.IdlePolls }),
	}
}

func processorFigures() []figure[processor] {
	one := func(name, help string, of func(*processor) uint64) figure[processor] {
		return counter("processor_"+name, help, ofProcessor, of)
	}
	return []figure[processor]{
		one("items", "Deferred calls run.", func(p *processor) uint64 { return p.Items }),
		one("drains", "Times that a processor was drained.", func(p *processor) uint64 { return p.Drains }),
		one("handoffs", "Deferred calls handed to a processor's own goroutine.", func(p *processor) uint64 { return p.Handoffs }),
		one("timers", "Timers that have fired.", func(p *processor) uint64 { return p.Timers }),
	}
}

func hcaFigures() []figure[hca] {
	return []figure[hca]{
		counters("hca_port_events", "Counters of an HCA's port, by the names that the kernel has for them.", []string{"hca", "hca_port", "counter"},
			func(h *hca) map[string]uint64 { return h.Counters }),
	}
}
