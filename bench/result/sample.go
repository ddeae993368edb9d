package result

// Sample is one measurement of one contestant. What could not be measured is 0.
type Sample struct {
	IOPS    float64 `json:"iops"`
	Bytes   float64 `json:"bw_bytes"` // a second
	IOs     uint64  `json:"total_ios"`
	Runtime float64 `json:"runtime_s"`
	Latency Latency `json:"clat_ns"`

	ServerCPU float64 `json:"server_cpu_us,omitempty"` // µs a request; of what runs in one process, all of it
	ClientCPU float64 `json:"client_cpu_us,omitempty"`
	Resident  uint64  `json:"resident,omitempty"` // bytes of the server, at the end
	IdleCPU   float64 `json:"idle_cpu,omitempty"` // cores, of a server without clients
	Foreign   float64 `json:"foreign_cores"`      // what everything else on the machine used meanwhile
}

// Latency is the time from submission to completion, in ns.
type Latency struct {
	Mean       float64            `json:"mean"`
	Percentile map[string]float64 `json:"percentile,omitempty"` // by fio's names, as in "99.900000"
}

// The percentiles that the report shows.
const (
	P50  = "50.000000"
	P99  = "99.000000"
	P999 = "99.900000"
)

// At returns a percentile, in ns; 0 if it was not measured.
func (l Latency) At(name string) float64 { return l.Percentile[name] }
