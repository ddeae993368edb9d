package dispatch

// point names an access to state that goroutines share.
type point uint8

const (
	pointTake point = iota
	pointKick
	pointPush
	pointPop
	pointRelease
	pointRecheck
	pointHandOff
	pointServe
)

// at stops at a point in the model tests, which choose who goes on from there.
func (p *Processor) at(pt point) {
	if p.trace != nil {
		p.trace(pt)
	}
}
