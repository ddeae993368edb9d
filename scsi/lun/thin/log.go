package thin

// Keys of log records.
const (
	keyPath   = "path"
	keyError  = "error"
	keyUnit   = "unit"
	keyOffset = "offset"
	keyFree   = "free_mib"
	keyNeeded = "needed_mib"
)
