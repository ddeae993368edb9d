package thin

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
)

// badger's logs (*.mem) have a header of logHeader bytes, and then entries. One has its own header (two bytes of flags,
// the lengths of key and value, and a time, as varints), key, value, and a CRC-32C of all that. Zeros follow the last.
const logHeader = 20

// tornBytes is at least what a kill leaves of an entry that was being copied: an extent, its key and a few bytes. Its
// header may be the last of it that is written.
const tornBytes = 16 << 10

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// nextEntry returns the length of the entry that b begins with; 0 if it is none.
func nextEntry(b []byte) int {
	at := 2
	var lengths [3]uint64
	for i := range lengths {
		if at >= len(b) {
			return 0
		}
		v, k := binary.Uvarint(b[at:])
		if k <= 0 {
			return 0
		}
		lengths[i], at = v, at+k
	}
	if lengths[0] == 0 || lengths[0] > 1<<16 || lengths[1] > 2*memTable {
		return 0
	}
	n := at + int(lengths[0]) + int(lengths[1]) + 4
	if n > len(b) || crc32.Checksum(b[:n-4], castagnoli) != binary.BigEndian.Uint32(b[n-4:]) {
		return 0
	}
	return n
}

// logs returns the names of badger's logs, in order.
func (c *checker) logs() []string {
	names, _ := filepath.Glob(filepath.Join(c.dir, "*.mem"))
	slices.SortFunc(names, func(a, b string) int { return logNumber(a) - logNumber(b) })
	return names
}

// logNumber returns the number in a log's name, or 0.
func logNumber(name string) (n int) {
	_, _ = fmt.Sscanf(filepath.Base(name), "%d.mem", &n)
	return n
}

// checkLogs reads the logs that a kill has left. As long as the system runs they are as they were written: whole entries,
// perhaps part of one, zeros. What a loss of power leaves may end anywhere, and says nothing.
func (c *checker) checkLogs(sameBoot bool) error {
	names := c.logs()
	empty := 0
	for i, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			return damaged("%w", err)
		}
		if len(b) == 0 {
			// The first may have been on its way out, the last on its way in, or be prepared only.
			if empty++; sameBoot && (i > 0 && i < len(names)-1 || empty == len(names) && empty > 1) {
				return damaged("%s is empty", filepath.Base(name))
			}
			continue
		}
		if len(b) < logHeader {
			return damaged("%s has %d bytes", filepath.Base(name), len(b))
		}
		at := logHeader
		for {
			n := nextEntry(b[at:])
			if n == 0 {
				break
			}
			c.logged = true
			at += n
		}
		if sameBoot && !endsWell(b[at:], len(b) == 2*memTable) {
			return damaged("%s: byte %d is not what was written", filepath.Base(name), at)
		}
	}
	return nil
}

// endsWell reports whether what is behind the last entry of a log can be there: nothing in one that badger has cut, and
// else at most a part of one entry, before zeros.
func endsWell(b []byte, whole bool) bool {
	if !whole {
		return len(b) == 0
	}
	return len(b) <= tornBytes || len(bytes.TrimLeft(b[tornBytes:], "\x00")) == 0
}
