package control

// Hosted are the targets in the daemon's own process.
type Hosted struct {
	Version int            `json:"version"`
	Targets []HostedTarget `json:"targets"`
}

// HostedTarget is one of them.
type HostedTarget struct {
	Name     string          `json:"name"`
	TargetID string          `json:"target_id"` // 128 bits, hexadecimal
	String   string          `json:"login_string"`
	Faults   []Fault         `json:"faults"` // what it does wrong on purpose, in order
	Sessions []HostedSession `json:"sessions"`
}

// Fault is a rule of package srp/target/fault.
type Fault struct {
	Rule string `json:"rule"`
	Hits uint64 `json:"hits"` // times that it has done its fault
}

// HostedSession is an initiator port that is logged in.
type HostedSession struct {
	Initiator string          `json:"initiator_id"` // 128 bits, hexadecimal
	Group     string          `json:"group"`        // "": the target's own
	LUNs      []int           `json:"luns"`         // that it sees
	Channels  []HostedChannel `json:"channels"`
}

// HostedChannel is one channel of a session, as the target has counted since its login.
type HostedChannel struct {
	ID            uint64  `json:"id"`
	Peer          string  `json:"peer"`
	Age           float64 `json:"age_s"`
	Credits       int     `json:"credits"`
	Outstanding   int     `json:"outstanding"`
	MaxIU         int     `json:"max_iu"` // bytes
	ImmediateData bool    `json:"immediate_data"`
	Commands      uint64  `json:"commands"`
	Tasks         uint64  `json:"tasks"`
	Responses     uint64  `json:"responses"`
	BytesIn       uint64  `json:"bytes_in"` // read by the initiator
	BytesOut      uint64  `json:"bytes_out"`
	Faults        uint64  `json:"faults"` // requests that something went wrong with on purpose
}

// SetFaults says what a target in the process does wrong from now on; "" for nothing.
type SetFaults struct {
	Version int    `json:"version"`
	Target  string `json:"target"` // its name
	Rules   string `json:"rules"`  // as package srp/target/fault reads them
}

func (q *SetFaults) check() error {
	if len(q.Rules) > maxText {
		return tooLong("rules", len(q.Rules), maxText)
	}
	return checkTarget(q.Target)
}
