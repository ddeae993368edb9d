package levelcheck

// Mark is the fact that an object bears a //level: mark: a function, an interface method, a function type, or a
// variable or field of function type.
type Mark struct {
	Level   Level
	NoAlloc bool // on the data path: the compiler's escape report must be empty
}

// Blocks is the fact that a computing function must not be called at Dispatch, and why.
type Blocks struct {
	Reason string // "file.go:12: sends on a channel", through the calls that lead there
}

// Allocates is the fact that a function must not stand on the data path, and why.
type Allocates struct {
	Reason string // like that of Blocks
}

func (*Mark) AFact()      {}
func (*Blocks) AFact()    {}
func (*Allocates) AFact() {}

func (m *Mark) String() string {
	if m.NoAlloc {
		return m.Level.String() + " noalloc"
	}
	return m.Level.String()
}

func (b *Blocks) String() string { return "blocks: " + b.Reason }

func (a *Allocates) String() string { return "allocates: " + a.Reason }
