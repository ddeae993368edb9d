package embedded

import (
	"context"
	"fmt"

	"minisrp/srp/target/fault"
)

// SetFaults says what goes wrong on purpose from now on, as package fault reads it; "" for nothing. Rules that are given
// anew begin to count anew. Errors: ErrFault; ctx's.
func (t *Target) SetFaults(ctx context.Context, text string) error {
	rules, err := fault.Parse(text)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFault, err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.port.SetFaults(ctx, rules); err != nil {
		return err
	}
	t.rules = rules
	return nil
}

// FaultHits is how often a rule has done its fault.
type FaultHits struct {
	Rule string
	Hits uint64
}

// Faults returns what goes wrong, in order.
func (t *Target) Faults() (all []FaultHits) {
	t.mu.Lock()
	rules := t.rules
	t.mu.Unlock()
	if rules == nil {
		return nil
	}
	for rule, hits := range rules.Struck {
		all = append(all, FaultHits{rule, hits})
	}
	return all
}
