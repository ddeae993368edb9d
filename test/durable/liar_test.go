package durable

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
)

// A little NBD server, which the test binary becomes when the environment asks for it. It keeps its word, or breaks it
// in the way that it is told.
const (
	envDir  = "DURABLE_TEST_DIR"
	envMode = "DURABLE_TEST_MODE"
)

const serverSize = 16 << 20

// The ways of the server. Those that hold back have an overlay in memory over the file.
const (
	writesThrough = "through"    // every write goes to the file before it is answered
	holdsBack     = "holds-back" // until a flush; FUA goes to the file: a write-back cache as it should be
	ignoresFlush  = "ignores-flush"
	ignoresFUA    = "ignores-fua"
	flushesOwn    = "flushes-own"    // only the connection's own writes, though it says otherwise
	forgetsZeroes = "forgets-zeroes" // a flush leaves out what was written as zeros
	tears         = "tears"          // after a kill, the last write is half there
	restores      = "restores"       // after a kill, an old copy comes back
	misplaces     = "misplaces"      // after a kill, two blocks have changed places
	readsStale    = "reads-stale"    // what is not flushed is not seen by reads either
	refuses       = "refuses"        // the 100th request
	dies          = "dies"           // at the 100th request
	needsHelp     = "needs-help"     // does not start again after a kill
)

type server struct {
	mode string
	dir  string
	file *os.File

	mu       sync.Mutex
	overlay  map[uint64]held // by block
	requests int
}

// held is a block that is not in the file yet.
type held struct {
	data [blockSize]byte
	conn int
	zero bool
}

// serve runs the server until it is killed or told to end.
func serve(dir, mode string) error {
	s := &server{mode: mode, dir: dir, overlay: make(map[uint64]held)}
	socket := filepath.Join(dir, "nbd")
	if mode == needsHelp {
		if _, err := os.Stat(socket); err == nil {
			return errors.New("the socket is there already: remove it")
		}
	}
	os.Remove(socket)
	var err error
	if s.file, err = os.OpenFile(filepath.Join(dir, "disk"), os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return err
	}
	if err := s.file.Truncate(serverSize); err != nil {
		return err
	}
	if err := s.damage(); err != nil {
		return err
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	go func() {
		<-term
		os.Exit(0)
	}()
	fmt.Printf("serving: nbd+unix:///?socket=%s (%s)\n", socket, mode)
	for conn := 0; ; conn++ {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go s.converse(conn, c)
	}
}

// damage does to the file what the mode says that happens between two lives.
func (s *server) damage() error {
	disk := make([]byte, serverSize)
	if _, err := s.file.ReadAt(disk, 0); err != nil {
		return err
	}
	var used []int
	for at := 0; at < len(disk) && len(used) < 100; at += blockSize {
		if !isZero(disk[at:][:blockSize]) {
			used = append(used, at)
		}
	}
	old := filepath.Join(s.dir, "old")
	switch {
	case s.mode == restores:
		if copied, err := os.ReadFile(old); err == nil {
			if _, err := s.file.WriteAt(copied, 0); err != nil {
				return err
			}
		}
		return os.WriteFile(old, disk, 0o600)
	case len(used) < 100:
	case s.mode == tears:
		_, err := s.file.WriteAt(make([]byte, blockSize/2), int64(used[50]+blockSize/2))
		return err
	case s.mode == misplaces:
		a, b := disk[used[1]:][:blockSize], disk[used[99]:][:blockSize]
		if _, err := s.file.WriteAt(b, int64(used[1])); err != nil {
			return err
		}
		_, err := s.file.WriteAt(a, int64(used[99]))
		return err
	}
	return nil
}

// converse serves a connection; whatever goes wrong ends it.
func (s *server) converse(conn int, c net.Conn) error {
	defer c.Close()
	r := bufio.NewReader(c)
	hello := binary.BigEndian.AppendUint64(nil, 0x4e42444d41474943)
	hello = binary.BigEndian.AppendUint64(hello, 0x49484156454f5054)
	hello = binary.BigEndian.AppendUint16(hello, 3)
	c.Write(hello)
	option := make([]byte, 4+16)
	if _, err := io.ReadFull(r, option); err != nil {
		return err
	}
	if _, err := io.CopyN(io.Discard, r, int64(binary.BigEndian.Uint32(option[16:]))); err != nil {
		return err
	}
	reply := func(typ uint32, data ...byte) {
		b := binary.BigEndian.AppendUint64(nil, 0x0003e889045565a9)
		b = append(b, option[12:16]...)
		b = binary.BigEndian.AppendUint32(b, typ)
		b = binary.BigEndian.AppendUint32(b, uint32(len(data)))
		c.Write(append(b, data...))
	}
	info := binary.BigEndian.AppendUint64([]byte{0, 0}, serverSize)
	reply(3, binary.BigEndian.AppendUint16(info, 1|1<<2|1<<3|1<<5|1<<6|1<<8)...)
	reply(1)

	for {
		head := make([]byte, 28)
		if _, err := io.ReadFull(r, head); err != nil {
			return err
		}
		offset, length := binary.BigEndian.Uint64(head[16:]), uint64(binary.BigEndian.Uint32(head[24:]))
		cmd, flags := binary.BigEndian.Uint16(head[6:]), binary.BigEndian.Uint16(head[4:])
		var data []byte
		switch {
		case cmd == 0 || cmd == 1:
			data = make([]byte, length)
		case offset%blockSize != 0 || length%blockSize != 0:
			panic("not aligned")
		}
		if cmd == 1 {
			if _, err := io.ReadFull(r, data); err != nil {
				return err
			}
		}
		var errno syscall.Errno
		if err := s.do(conn, cmd, flags&1 != 0, offset, length, data); err != nil {
			errno = syscall.EIO
		}
		answer := binary.BigEndian.AppendUint32(nil, 0x67446698)
		answer = binary.BigEndian.AppendUint32(answer, uint32(errno))
		answer = append(answer, head[8:16]...)
		if cmd == 0 && errno == 0 {
			answer = append(answer, data...)
		}
		if _, err := c.Write(answer); err != nil {
			return err
		}
	}
}

func (s *server) do(conn int, cmd uint16, fua bool, offset, length uint64, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.requests++; s.requests == 100+serverSize>>18 {
		switch s.mode {
		case refuses:
			return errors.New("no more")
		case dies:
			fmt.Fprintln(os.Stderr, "a mistake of the server")
			os.Exit(3)
		}
	}
	switch cmd {
	case 0:
		if _, err := s.file.ReadAt(data, int64(offset)); err != nil {
			return err
		}
		for at := uint64(0); at < length && s.mode != readsStale; at += blockSize {
			if h, ok := s.overlay[(offset+at)/blockSize]; ok {
				copy(data[at:], h.data[:])
			}
		}
		return nil
	case 3:
		return s.writeBack(conn)
	case 4, 6:
		data = make([]byte, length)
	}
	through := s.mode == writesThrough || s.mode == tears || s.mode == restores || s.mode == misplaces ||
		fua && s.mode != ignoresFUA
	for at := uint64(0); at < length; at += blockSize {
		h := held{conn: conn, zero: cmd != 1}
		copy(h.data[:], data[at:])
		if through {
			delete(s.overlay, (offset+at)/blockSize)
		} else {
			s.overlay[(offset+at)/blockSize] = h
		}
	}
	if !through {
		return nil
	}
	_, err := s.file.WriteAt(data, int64(offset))
	return err
}

func (s *server) writeBack(conn int) error {
	for block, h := range s.overlay {
		switch {
		case s.mode == ignoresFlush, s.mode == flushesOwn && h.conn != conn, s.mode == forgetsZeroes && h.zero:
			continue
		}
		if _, err := s.file.WriteAt(h.data[:], int64(block*blockSize)); err != nil {
			return err
		}
		delete(s.overlay, block)
	}
	return syscall.Fdatasync(int(s.file.Fd()))
}
