package bytesize

import "testing"

func TestSize(t *testing.T) {
	for text, want := range map[string]Size{
		"512": 512, "1K": 1 << 10, "64m": 64 << 20, "8G": 8 << 30, "8GiB": 8 << 30, "8gb": 8 << 30, "2T": 2 << 40,
		"1048576T": 1 << 60, "9048576T": 0, "": 0, "0": 0, "0G": 0, "G": 0, "-1": 0, "+1": 0, "1.5G": 0, "1e3": 0, "8IB": 0, "8GX": 0, "8 G": 0, "8P": 0,
		"18446744073709551616": 0, "4611686018427387904": 0, "4611686018427387903": 4611686018427387903, "１": 0,
	} {
		var got Size
		if err := got.Set(text); (err == nil) != (want != 0) || got != want {
			t.Errorf("%q: %d, %v; want %d", text, got, err, want)
		}
	}
	for _, n := range []uint64{1, 512, 1000, 1 << 10, 1536, 64 << 20, 8 << 30, 3 << 40, 1<<62 - 512} {
		var back Size
		if err := back.Set(Format(n)); err != nil || uint64(back) != n {
			t.Errorf("%d is written %q and read %d, %v", n, Format(n), back, err)
		}
	}
}
