package metrics

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"minisrp/cmd/control"
)

// scrapeTime bounds a scrape: processors answer in microseconds.
const scrapeTime = 8 * time.Second

// Collector makes metrics of what a source tells. It is safe for use by several goroutines.
type Collector struct {
	// Fixed after construction.
	source     control.Source
	info       *prometheus.Desc
	started    *prometheus.Desc
	exports    []figure[export]
	disks      []figure[disk]
	units      []figure[unit]
	ports      []figure[port]
	targets    []figure[target]
	channels   []figure[channel]
	processors []figure[processor]
	hcas       []figure[hca]
}

var _ prometheus.Collector = (*Collector)(nil)

// NewCollector makes a collector.
func NewCollector(s control.Source) *Collector {
	return &Collector{
		source:  s,
		info:    prometheus.NewDesc("minisrp_info", "The daemon; the value is 1.", []string{"program"}, nil),
		started: prometheus.NewDesc("minisrp_start_time_seconds", "When the daemon was started, in seconds since 1970.", nil, nil),
		exports: exportFigures(), disks: diskFigures(), units: unitFigures(), ports: portFigures(), targets: targetFigures(),
		channels: channelFigures(), processors: processorFigures(), hcas: hcaFigures(),
	}
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(out chan<- *prometheus.Desc) {
	out <- c.info
	out <- c.started
	describe(out, c.exports)
	describe(out, c.disks)
	describe(out, c.units)
	describe(out, c.ports)
	describe(out, c.targets)
	describe(out, c.channels)
	describe(out, c.processors)
	describe(out, c.hcas)
}

func describe[T any](out chan<- *prometheus.Desc, all []figure[T]) {
	for _, f := range all {
		out <- f.desc
	}
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTime)
	defer cancel()
	if err := c.collect(ctx, out); err != nil {
		out <- prometheus.NewInvalidMetric(c.info, err)
	}
}

func (c *Collector) collect(ctx context.Context, out chan<- prometheus.Metric) error {
	who, err := c.source.Daemon(ctx)
	if err != nil {
		return err
	}
	counted, err := c.source.Counters(ctx)
	if err != nil {
		return err
	}
	units, err := c.source.Units(ctx)
	if err != nil {
		return err
	}
	targets, err := c.source.Targets(ctx)
	if err != nil {
		return err
	}
	out <- prometheus.MustNewConstMetric(c.info, prometheus.GaugeValue, 1, who.Program)
	out <- prometheus.MustNewConstMetric(c.started, prometheus.GaugeValue, float64(who.Started.UnixMilli())/1000)
	for i := range counted.NBD.Exports {
		emit(out, c.exports, &counted.NBD.Exports[i], counted.NBD.Exports[i].Name)
	}
	for i := range counted.Disks {
		emit(out, c.disks, &counted.Disks[i], counted.Disks[i].Name)
	}
	for i := range units.Units {
		emit(out, c.units, &units.Units[i], units.Units[i].Name)
	}
	for i := range counted.Units {
		emit(out, c.ports, &counted.Units[i], counted.Units[i].Name)
	}
	for i := range targets.Targets {
		t := &targets.Targets[i]
		emit(out, c.targets, t, t.Name)
		for k := range t.Channels {
			emit(out, c.channels, &t.Channels[k], t.Name, strconv.Itoa(k))
		}
	}
	for i := range counted.Processors {
		emit(out, c.processors, &counted.Processors[i], counted.Processors[i].Name)
	}
	for i := range counted.HCAs {
		emit(out, c.hcas, &counted.HCAs[i], counted.HCAs[i].Name, strconv.Itoa(counted.HCAs[i].Port))
	}
	return nil
}

// emit tells all figures of one thing.
func emit[T any](out chan<- prometheus.Metric, all []figure[T], of *T, labels ...string) {
	for _, f := range all {
		for _, s := range f.of(of) {
			m, err := prometheus.NewConstMetric(f.desc, f.kind, s.value, append(labels[:len(labels):len(labels)], s.labels...)...)
			if err != nil {
				m = prometheus.NewInvalidMetric(f.desc, err)
			}
			out <- m
		}
	}
}

// Handler answers scrapes with what a source tells, and with the figures of the Go runtime and the process.
func Handler(s control.Source, log *slog.Logger) http.Handler {
	r := prometheus.NewRegistry()
	r.MustRegister(NewCollector(s), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn), MaxRequestsInFlight: 4, DisableCompression: true,
	})
}
