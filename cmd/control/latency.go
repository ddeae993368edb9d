package control

// Latencies is how long requests have taken.
type Latencies struct {
	Version int           `json:"version"`
	Disks   []DiskLatency `json:"disks"`
}

// DiskLatency is a disk's, from when a request is submitted until it is complete, since the disk was opened.
type DiskLatency struct {
	Name     string  `json:"name"`
	Identity string  `json:"identity"`
	Read     Latency `json:"read"`
	Write    Latency `json:"write"`
	Flush    Latency `json:"flush"`
	Other    Latency `json:"other"` // unmap, write zeroes, status, prefetch
}

// Latency is the distribution of a duration. Percentiles are upper bounds of the bucket that they are in, and are at
// most a quarter too high; 0 when there is nothing.
type Latency struct {
	Count   uint64   `json:"count"`
	Mean    float64  `json:"mean_us"`
	P50     float64  `json:"p50_us"`
	P90     float64  `json:"p90_us"`
	P99     float64  `json:"p99_us"`
	P999    float64  `json:"p999_us"`
	Max     float64  `json:"max_us"`
	Buckets []Bucket `json:"buckets"` // those that are not empty, shortest first
}

// Bucket is how many durations were not longer than Most, and longer than the bucket's before.
type Bucket struct {
	Most  float64 `json:"most_us"`
	Count uint64  `json:"count"`
}
