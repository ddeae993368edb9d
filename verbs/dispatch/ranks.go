package dispatch

// Rank is the place of a lock in the order in which locks are taken: while one is held, only those of a higher rank may
// be taken. Mutex is sync.Mutex but for that; it is checked by the run-time twin.
type Rank interface{ Rank() int }

// The ranks of the system's locks. None is held over a call out of its package, but to those below.
type (
	RankPort    struct{} // srp/target: what is attached
	RankServer  struct{} // scsi/lun: the units of a server
	RankAccess  struct{} // scsi/lun: a unit's access states
	RankAdapter struct{} // miniport: an adapter's targets
	RankUnits   struct{} // miniport: the port's units and regions
	RankTarget  struct{} // miniport: a target's state
	RankFabric  struct{} // verbs/soft: who is reached where
	RankKeys    struct{} // verbs/soft: the table of keys
	RankWorker  struct{} // Worker: what is to be run
)

func (RankPort) Rank() int    { return 10 }
func (RankServer) Rank() int  { return 20 }
func (RankAccess) Rank() int  { return 21 }
func (RankAdapter) Rank() int { return 30 }
func (RankUnits) Rank() int   { return 31 }
func (RankTarget) Rank() int  { return 32 }
func (RankFabric) Rank() int  { return 70 }
func (RankKeys) Rank() int    { return 71 }
func (RankWorker) Rank() int  { return 90 }
