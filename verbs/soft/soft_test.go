package soft_test

import (
	"testing"

	"go.uber.org/goleak"

	"minisrp/verbs"
	"minisrp/verbs/internal/providertest"
	"minisrp/verbs/soft"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// plug makes two HCAs of a new fabric.
func plug(c soft.Config) (*soft.Fabric, providertest.Plug) {
	fb := soft.New(c)
	return fb, func(t testing.TB) (a, b verbs.Driver) {
		t.Helper()
		return hca(t, fb, 0), hca(t, fb, 1)
	}
}

func hca(t testing.TB, fb *soft.Fabric, i int) *soft.HCA {
	t.Helper()
	h, err := fb.Plug(soft.HCAConfig{Name: string(rune('a' + i)), GUID: verbs.GUID(0x02_00_00_ff_fe_00_00_01 + i), Addr: providertest.Addr(i)})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// fresh plugs into a fabric of its own.
func fresh(t testing.TB) (a, b verbs.Driver) {
	_, p := plug(soft.Config{})
	return p(t)
}

func TestDataPath(t *testing.T) { providertest.DataPath(t, fresh) }
