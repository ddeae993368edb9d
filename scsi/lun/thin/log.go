package thin

// Keys of log records.
const (
	keyPath    = "path"
	keyError   = "error"
	keyUnit    = "unit"
	keyOffset  = "offset"
	keyExtents = "extents"
	keyFree    = "free_mib"
	keyNeeded  = "needed_mib"
)
