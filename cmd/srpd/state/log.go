package state

// Keys of log records.
const (
	keyPath  = "path"
	keyError = "error"
	keyUnit  = "unit"
	keyName  = "name"
)
