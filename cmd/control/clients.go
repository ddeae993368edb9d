package control

// Clients are the clients of the NBD server.
type Clients struct {
	Version int         `json:"version"`
	Clients []NBDClient `json:"clients"`
}

// NBDClient is a connection that has chosen an export.
type NBDClient struct {
	Export   string `json:"export"`
	Client   string `json:"client"` // all that is known of it, for people
	UID      int    `json:"uid"`    // of a unix socket's peer; -1: not known
	PID      int    `json:"pid"`    // likewise; 0: not known
	Address  string `json:"address,omitempty"`
	TLS      bool   `json:"tls"`
	Name     string `json:"name,omitempty"` // common name of its certificate
	Requests uint64 `json:"requests"`
	InFlight uint64 `json:"in_flight"` // of them
}

// AcceptLoss says that an operator has seen to the data of a disk that has lost acknowledged writes: its flushes succeed
// again.
type AcceptLoss struct {
	Version int    `json:"version"`
	Export  string `json:"export"` // a disk's name, or another of its exports'
}

// Loss is the answer.
type Loss struct {
	Version int    `json:"version"`
	Export  string `json:"export"`
	Lost    bool   `json:"lost"` // there was a loss, and it is accepted now
}

func (q *AcceptLoss) check() error {
	switch {
	case q.Export == "":
		return missing("export", "the name of an export")
	case len(q.Export) > maxName:
		return tooLong("export", len(q.Export), maxName)
	}
	return nil
}
