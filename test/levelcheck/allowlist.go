package levelcheck

// allowedPackages may be called at Dispatch whole: they compute on their arguments, allocate nothing, wait for nothing
// and call nothing back.
var allowedPackages = map[string]bool{
	"cmp":         true,
	"math":        true,
	"math/bits":   true,
	"sync/atomic": true, // never waits; a compare-and-swap loop is its caller's
	"unsafe":      true,
}

// allowedFuncs may be called at Dispatch one by one.
var allowedFuncs = set(
	// Fixed-size integers in the caller's memory. Read, Write and Size use reflection; Append grows.
	methods("encoding/binary.littleEndian", "Uint16", "Uint32", "Uint64", "PutUint16", "PutUint32", "PutUint64"),
	methods("encoding/binary.bigEndian", "Uint16", "Uint32", "Uint64", "PutUint16", "PutUint32", "PutUint64"),

	// Searches and comparisons, and cuts of the slice they were given.
	methods("bytes", "Compare", "Contains", "Count", "Cut", "CutPrefix", "CutSuffix", "Equal", "HasPrefix", "HasSuffix", "Index",
		"IndexByte", "LastIndex", "LastIndexByte", "TrimPrefix", "TrimRight", "TrimSuffix"),
	methods("strings", "Compare", "Contains", "Count", "Cut", "CutPrefix", "CutSuffix", "HasPrefix", "HasSuffix", "Index",
		"IndexByte", "LastIndexByte", "TrimPrefix", "TrimRight", "TrimSuffix"),

	// On the slice itself, without a function to call. Sort is bounded and in place; Insert and Grow allocate.
	methods("slices", "BinarySearch", "Compare", "Contains", "Delete", "Equal", "Index", "IsSorted", "Max", "Min", "Reverse", "Sort"),

	// Tables are made once and handed in; MakeTable allocates, and the first use of IEEETable waits for its making.
	methods("hash/crc32", "Update"),

	// Arithmetic on times that others read; String and Format allocate, Now and Since read the clock (Frame.Now does so
	// once a batch).
	methods("time.Duration", "Abs", "Hours", "Microseconds", "Milliseconds", "Minutes", "Nanoseconds", "Round", "Seconds", "Truncate"),
	methods("time.Time", "Add", "After", "Before", "Compare", "Equal", "IsZero", "Sub", "Unix", "UnixMicro", "UnixMilli", "UnixNano"),

	// Locks that are not waited for, and the giving up of locks. An unlock may wake a goroutine, which does not wait.
	methods("sync.Mutex", "TryLock", "Unlock"),
	methods("sync.RWMutex", "TryLock", "TryRLock", "Unlock", "RUnlock"),
	methods("sync.WaitGroup", "Add", "Done"),
	methods("sync.Cond", "Signal", "Broadcast"),

	// Addresses as values. Parsing, printing and zones allocate.
	methods("net/netip", "AddrFrom4", "AddrFrom16", "AddrPortFrom"),
	methods("net/netip.Addr", "As4", "As16", "Compare", "Is4", "Is4In6", "Is6", "IsUnspecified", "IsValid", "Unmap"),
	methods("net/netip.AddrPort", "Addr", "Compare", "IsValid", "Port"),

	methods("runtime", "KeepAlive"),

	// Counts in a table that New has made. Only a value out of its range makes an error, which is allocated.
	methods("github.com/HdrHistogram/hdrhistogram-go.Histogram", "RecordValue", "Reset"),
)

func methods(prefix string, names ...string) []string {
	full := make([]string, len(names))
	for i, name := range names {
		full[i] = prefix + "." + name
	}
	return full
}

func set(lists ...[]string) map[string]bool {
	m := make(map[string]bool)
	for _, list := range lists {
		for _, name := range list {
			m[name] = true
		}
	}
	return m
}
