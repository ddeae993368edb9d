package daemon

// Keys of log records.
const (
	keyAddress  = "address"
	keyAdvice   = "advice"
	keyCount    = "count"
	keyError    = "error"
	keyExport   = "export"
	keyIdentity = "identity"
	keyPart     = "part"
	keyPath     = "path"
	keySize     = "size"
	keyTarget   = "target"
	keyUnit     = "unit"
)
