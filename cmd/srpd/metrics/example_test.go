package metrics_test

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"minisrp/cmd/control/controltest"
	"minisrp/cmd/srpd/metrics"
)

// A collector beside others in a registry.
func ExampleCollector() {
	r := prometheus.NewRegistry()
	r.MustRegister(metrics.NewCollector(controltest.Full()))
	families, err := r.Gather()
	for _, f := range families {
		if f.GetName() == "minisrp_target_up" {
			fmt.Println(f.GetType(), f.GetMetric()[0].GetLabel()[0].GetValue(), f.GetMetric()[0].GetGauge().GetValue())
		}
	}
	fmt.Println(err)
	// Output:
	// GAUGE embedded 1
	// <nil>
}
