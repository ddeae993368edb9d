package guest

import (
	"flag"
	"testing"
	"time"

	"minisrp/test/durable"
	"minisrp/test/need"
)

var rounds = flag.Int("powercut", 1, "rounds of TestPowerCut, with each store")

// TestPowerCut takes the power of a guest away in the middle of writes: everything that
// srpd had acknowledged by a flush or FUA is on the disk when it boots again, without a
// manual step.
func TestPowerCut(t *testing.T) {
	if testing.Short() {
		t.Skip("boots a guest under software emulation")
	}
	for _, tool := range []string{"qemu-system-x86_64", "apt-get", "dpkg-deb", "mkfs.ext4"} {
		need.Tool(t, tool)
	}
	ctx := t.Context()
	k, err := FetchKernel(ctx)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	srpd, initProgram, err := Build(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, store := range []string{"file", "badger"} {
		t.Run(store, func(t *testing.T) {
			m, err := New(t.Context(), t.TempDir(), k, srpd, initProgram, store)
			if err != nil {
				t.Fatal(err)
			}
			report, err := durable.Run(t.Context(), durable.Config{
				Argv: m.Argv, End: m.PullThePlug, Rounds: *rounds, Seed: uint64(time.Now().UnixNano()),
				Area: 8 << 20, MaxRound: 20 * time.Second, StartTime: 3 * time.Minute, Log: t.Output(), Output: t.Output(),
			})
			if report != nil {
				report.Print(t.Output())
			}
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}
