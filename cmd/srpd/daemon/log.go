package daemon

// Keys of log records.
const (
	keyAddress  = "address"
	keyAdvice   = "advice"
	keyCount    = "count"
	keyError    = "error"
	keyExport   = "export"
	keyFaults   = "faults"
	keyFunction = "function"
	keyLogin    = "login"
	keyLUN      = "lun"
	keyIdentity = "identity"
	keyPart     = "part"
	keyPath     = "path"
	keyProtect  = "protect"
	keySize     = "size"
	keyTarget   = "target"
	keyUnit     = "unit"
)
