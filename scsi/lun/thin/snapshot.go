package thin

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"slices"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/pb"
	"github.com/dgraph-io/ristretto/v2/z"
	"google.golang.org/protobuf/proto"

	"minisrp/verbs/dispatch/token"
)

// A snapshot is a line of JSON, which is a snapshotHeader; frames as badger's backups have them (8 bytes of length, least
// significant byte first, and a pb.KVList), with keys that lack the unit's number; a frame of length 0; and the SHA-256 of
// all that.
type snapshotHeader struct {
	Format    string `json:"format"`
	Version   int    `json:"version"`
	Unit      string `json:"unit"`
	Size      uint64 `json:"size"`
	BlockSize uint32 `json:"block_size"`
}

const (
	snapshotFormat  = "minisrp thin snapshot"
	snapshotVersion = 1
)

// Snapshot writes the unit as it is at one moment, which lies between the call and the return: what was acknowledged
// before the call is in it. The unit goes on meanwhile. Errors: ErrDamaged, w's, ctx's.
func (s *Store) Snapshot(ctx context.Context, w io.Writer) error {
	sum := sha256.New()
	out := &summed{ctx, w, sum}
	head, err := json.Marshal(snapshotHeader{snapshotFormat, snapshotVersion, s.name, s.info.Size, s.info.BlockSize})
	if err != nil {
		return err
	}
	if _, err := out.Write(append(head, '\n')); err != nil {
		return err
	}
	if err := s.db.slots.hold(func() error { return s.stream(ctx, out) }); err != nil {
		return fmt.Errorf("snapshot of %s: %w", s.name, err)
	}
	if err := writeFrame(out, nil); err != nil {
		return err
	}
	_, err = w.Write(sum.Sum(nil))
	return err
}

// stream writes the unit's keys and values in frames. badger's own Backup would leave out what it cannot read.
func (s *Store) stream(ctx context.Context, w io.Writer) error {
	s.db.swap.RLock()
	defer s.db.swap.RUnlock()
	if s.db.badger.IsClosed() {
		return ErrClosed
	}
	var failed error // by the one goroutine that produces; read after it has ended
	st := s.db.badger.NewStream()
	st.LogPrefix = "snapshot"
	st.Prefix = unitPrefix(s.number)
	st.NumGo = 1 // each has a transaction of its own, and so a moment of its own
	st.KeyToList = func(key []byte, it *badger.Iterator) (*pb.KVList, error) {
		item := it.Item()
		if item.IsDeletedOrExpired() {
			return nil, nil
		}
		value, err := s.snapshotValue(key, item)
		if err != nil {
			failed = damaged("key %x: %w", key, err)
			return nil, err
		}
		return &pb.KVList{Kv: []*pb.KV{{Key: key[prefixSize:], Value: value}}}, nil
	}
	st.Send = func(buf *z.Buffer) error {
		list, err := badger.BufferToKVList(buf)
		if err != nil {
			return err
		}
		for kvs := list.Kv; len(kvs) > 0; {
			n := min(len(kvs), batchBytes/extentBytes)
			if err := writeFrame(w, kvs[:n]); err != nil {
				return err
			}
			kvs = kvs[n:]
		}
		return nil
	}
	if err := st.Orchestrate(ctx); err != nil {
		return err
	}
	return failed
}

// snapshotValue returns what a key has in a snapshot: extents have their bytes there, or one byte for zeros.
func (s *Store) snapshotValue(key []byte, item *badger.Item) (value []byte, err error) {
	if key[prefixSize] != dataKeys {
		return item.ValueCopy(nil)
	}
	err = item.Value(func(b []byte) error {
		if len(b) == 1 {
			value = zeros[:1]
			return nil
		}
		value = make([]byte, extentBytes)
		return s.db.load(b, value)
	})
	return value, err
}

// summed is a writer that sums up what it writes.
type summed struct {
	ctx context.Context
	w   io.Writer
	sum hash.Hash
}

// Write sums up with a token, which it has given back when w makes it wait.
func (s *summed) Write(p []byte) (int, error) {
	for part := range slices.Chunk(p, sumBytes) {
		if err := token.Default.Do(s.ctx, func() { s.sum.Write(part) }); err != nil {
			return 0, err
		}
	}
	return s.w.Write(p)
}

func writeFrame(w io.Writer, kvs []*pb.KV) error {
	b, err := proto.Marshal(&pb.KVList{Kv: kvs})
	if err != nil {
		return err
	}
	_, err = w.Write(append(binary.LittleEndian.AppendUint64(nil, uint64(len(b))), b...))
	return err
}

// readHeader reads the first line.
func readHeader(r io.Reader) (h snapshotHeader, err error) {
	var line []byte
	for b := make([]byte, 1); len(line) < 1024; {
		if _, err := io.ReadFull(r, b); err != nil {
			return h, badSnapshot("it ends in its first line: %w", err)
		}
		if b[0] == '\n' {
			break
		}
		line = append(line, b[0])
	}
	if err := json.Unmarshal(line, &h); err != nil || h.Format != snapshotFormat {
		return h, badSnapshot("it does not begin like one")
	}
	if h.Version != snapshotVersion {
		return h, badSnapshot("version %d, want %d", h.Version, snapshotVersion)
	}
	return h, nil
}

// readFrame reads a frame; the last is nil.
func readFrame(r io.Reader) (*pb.KVList, error) {
	var size [8]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, badSnapshot("it ends before its end: %w", err)
	}
	n := binary.LittleEndian.Uint64(size[:])
	if n == 0 {
		return nil, nil
	}
	if n > 2*batchBytes {
		return nil, badSnapshot("frame of %d bytes, want %d at most", n, 2*batchBytes)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, badSnapshot("it ends before its end: %w", err)
	}
	list := new(pb.KVList)
	if err := proto.Unmarshal(b, list); err != nil {
		return nil, badSnapshot("frame: %w", err)
	}
	return list, nil
}

// checkSum compares the sum of what was read with the one that follows.
func checkSum(r io.Reader, sum []byte) error {
	want := make([]byte, sha256.Size)
	if _, err := io.ReadFull(r, want); err != nil {
		return badSnapshot("it ends before its sum: %w", err)
	}
	if !bytes.Equal(sum, want) {
		return badSnapshot("its sum is wrong")
	}
	return nil
}
