package nbd

// Keys of log records.
const (
	keyExport  = "export"
	keyClient  = "client"
	keyError   = "error"
	keyLength  = "length"
	keyAddress = "address"
	keyLimit   = "limit"
	keyCount   = "count"
	keyReason  = "reason"
	keySize    = "size"
)
