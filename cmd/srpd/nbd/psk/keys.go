package psk

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
)

// Keys are those that clients may have, by identity.
//
// Ownership: anyone's; not changed after it is made.
type Keys struct {
	of     map[string][]byte
	secret [hashSize]byte // makes decoys
}

// Parse reads keys as psktool writes them, a line IDENTITY:KEY each, with the key in
// hexadecimal, and the identity too if it begins with #. The error names a line, and no key.
func Parse(text []byte) (*Keys, error) {
	k := &Keys{of: make(map[string][]byte)}
	_, _ = rand.Read(k.secret[:]) // never fails
	n := 0
	for line := range bytes.Lines(text) {
		n++
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			continue
		}
		if err := k.add(line); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if len(k.of) == 0 {
		return nil, fmt.Errorf("there is no key in it: want lines of IDENTITY:KEY, as psktool makes them")
	}
	return k, nil
}

// add takes a line.
func (k *Keys) add(line []byte) error {
	name, digits, ok := bytes.Cut(line, []byte(":"))
	if !ok {
		return fmt.Errorf("want IDENTITY:KEY, as psktool makes it")
	}
	id := string(name)
	if len(name) > 0 && name[0] == '#' {
		b, err := hex.DecodeString(id[1:])
		if err != nil {
			return fmt.Errorf("identity %.64q: want hexadecimal digits behind #", id)
		}
		id = string(b)
	}
	key := make([]byte, hex.DecodedLen(len(digits)))
	_, err := hex.Decode(key, digits)
	switch {
	case id == "" || len(id) > maxIdentity:
		return fmt.Errorf("identity of %d bytes, want 1 to %d", len(id), maxIdentity)
	case k.of[id] != nil:
		return fmt.Errorf("identity %.64q is there twice", id)
	case err != nil:
		return fmt.Errorf("key of %.64q: want hexadecimal digits, two for each byte", id)
	case len(key) < minKey || len(key) > maxKey:
		return fmt.Errorf("key of %.64q has %d bytes, want %d to %d", id, len(key), minKey, maxKey)
	}
	k.of[id] = key
	return nil
}

// Load reads a file of keys, which only its owner may write, and nobody may read but its
// owner and group.
//
//level:passive
func Load(path string) (*Keys, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !st.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no plain file", path)
	case st.Mode().Perm()&0o027 != 0:
		return nil, fmt.Errorf("%s has mode %#o, and keys are nobody else's to know: want 0600, or 0640 (chmod o=,g-w)", path, st.Mode().Perm())
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("it is longer than %d bytes", maxFile)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	k, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return k, nil
}

// decoy returns a key for an identity that has none. It is the same each time, and
// nobody has it.
func (k *Keys) decoy(id string) []byte {
	m := hmac.New(sha256.New, k.secret[:])
	m.Write([]byte(id))
	return m.Sum(nil)
}
