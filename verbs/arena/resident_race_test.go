//go:build race

package arena_test

import (
	"testing"

	"minisrp/verbs/arena"
)

const mapped = false

func resident(*testing.T, *arena.Arena) int { return 0 }
