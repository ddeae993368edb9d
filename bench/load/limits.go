package load

import "time"

const (
	// maxDepth bounds iodepth: what a worker has memory for.
	maxDepth = 4096
	// maxClones bounds numjobs.
	maxClones = 256
	// maxBlock bounds a block, in bytes. A port may take less.
	maxBlock = 16 << 20
	// maxTime bounds durations.
	maxTime = 1000 * time.Hour
	// longest is the latency above which histograms do not tell one from another.
	longest = time.Hour
	// digits is how exact they are.
	digits = 3
	// keptFaults is how many of the things that went wrong are told about, of each worker.
	keptFaults = 16
	// maxAttentions is how often a request is sent again that has met a unit attention.
	maxAttentions = 4
)
