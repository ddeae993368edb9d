// Package metrics tells Prometheus what a daemon has counted. It must not count anything itself: its source is the
// control socket's.
//
//	GET /metrics    text format of Prometheus, or OpenMetrics, as asked for
//
// Names begin with minisrp_ and the layer: nbd, disk, port, target, channel, processor, hca. A name never changes its
// meaning; new ones may come. Next to them are those of the Go runtime and the process, go_ and process_.
//
// # Ownership
//
// A Collector has no state but its source; scrapes may overlap.
//
// # Levels
//
// Passive: a scrape asks processors for their counters.
//
// # Errors
//
// A source that fails makes the scrape fail with HTTP status 500.
//
// # Testing
//
// The linter of Prometheus' own library reads what a fixed source gives; a golden file holds the names.
package metrics
