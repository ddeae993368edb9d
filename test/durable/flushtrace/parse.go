package flushtrace

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Call is a system call that has ended. A line of the trace is a moment: where a call was interrupted by others, it
// begins on one line and ends on another.
type Call struct {
	Name       string
	Args       string // as printed
	Begin, End int    // lines, from 1
	Time       string // of the beginning, as printed
	Ret        int64  // what it returned; negative for an error
	Result     string // everything behind the =
}

// maxMoved is what Linux reads or writes in a call at most, in bytes.
const maxMoved = 1<<31 - 4096

// Parse reads what strace -f -ttt -y has written. Signals, ends of processes, and calls that did not end are left out.
func Parse(r io.Reader) ([]Call, error) {
	in := bufio.NewReaderSize(r, 1<<20)
	begun := make(map[string]Call) // by process; interrupted
	var calls []Call
	for n := 1; ; n++ {
		line, err := in.ReadString('\n')
		if err == io.EOF && line == "" {
			return calls, nil
		}
		if err != nil && err != io.EOF {
			return nil, err
		}
		line = strings.TrimSuffix(line, "\n")
		pid, rest, _ := strings.Cut(line, " ")
		time, rest, ok := strings.Cut(strings.TrimLeft(rest, " "), " ")
		if _, err := strconv.Atoi(pid); err != nil || !ok || !strings.Contains(time, ".") {
			return nil, fmt.Errorf("line %d: want a process number and a time in seconds first (strace -f -ttt -o): %.80q", n, line)
		}
		if strings.HasPrefix(rest, "+++") || strings.HasPrefix(rest, "---") {
			continue
		}

		call := Call{Begin: n, Time: time}
		if resumed, ok := strings.CutPrefix(rest, "<... "); ok {
			name, args, ok := strings.Cut(resumed, " resumed>")
			if !ok {
				return nil, fmt.Errorf("line %d: %.80q", n, line)
			}
			if call, ok = begun[pid]; !ok || call.Name != name {
				continue // begun before the trace
			}
			delete(begun, pid)
			rest = call.Args + args
		} else {
			name, args, ok := strings.Cut(rest, "(")
			if !ok {
				return nil, fmt.Errorf("line %d: neither a call nor an event: %.80q", n, line)
			}
			call.Name, rest = name, args
		}
		if args, ok := strings.CutSuffix(rest, "<unfinished ...>"); ok {
			call.Args = strings.TrimSuffix(args, " ")
			begun[pid] = call
			continue
		}
		at := strings.LastIndex(rest, ") ")
		if at < 0 {
			return nil, fmt.Errorf("line %d: a call without an end: %.80q", n, line)
		}
		result, ok := strings.CutPrefix(strings.TrimLeft(rest[at+1:], " "), "= ")
		if !ok {
			return nil, fmt.Errorf("line %d: a call without a result: %.80q", n, line)
		}
		call.End, call.Args, call.Result = n, rest[:at], result
		digits := result
		if i := strings.IndexAny(result, " <"); i >= 0 {
			digits = result[:i]
		}
		if call.Ret, err = strconv.ParseInt(digits, 0, 64); err != nil {
			continue // "?": the process ended in it
		}
		if call.Ret > maxMoved && moves[call.Name] {
			return nil, fmt.Errorf("line %d: %s of %d bytes: more than Linux moves in a call", n, call.Name, call.Ret)
		}
		calls = append(calls, call)
	}
}

// descriptor splits the first argument: 6</a/file> is 6 and /a/file.
func (c *Call) descriptor() (whole, path string) {
	for i := 0; i < len(c.Args); i++ {
		if c.Args[i] != '>' || i+1 < len(c.Args) && c.Args[i+1] != ',' {
			continue
		}
		whole = c.Args[:i+1]
		_, path, _ = strings.Cut(whole[:i], "<")
		return whole, path
	}
	return "", ""
}

// moves are the calls that return how many bytes they have moved.
var moves = map[string]bool{"read": true, "readv": true, "recvfrom": true, "recvmsg": true, "write": true, "writev": true,
	"sendto": true, "sendmsg": true, "pwrite64": true, "pwritev": true, "pwritev2": true}

// piece is a part of what a call moved: its first bytes as far as the trace shows them, and its length.
type piece struct {
	data   []byte
	length int64
}

// moved returns what a read or write has moved, Ret bytes in all.
func (c *Call) moved() []piece {
	if c.Ret <= 0 {
		return nil
	}
	var pieces []piece
	rest, vectors := c.Args, false
	for {
		at := strings.Index(rest, "iov_base=")
		if at < 0 {
			break
		}
		vectors = true
		var p piece
		p.data, rest = firstString(rest[at+len("iov_base="):], true)
		_, length, ok := strings.Cut(rest, "iov_len=")
		if !ok {
			break
		}
		digits := length[:len(length)-len(strings.TrimLeft(length, "0123456789"))]
		p.length, _ = strconv.ParseInt(digits, 10, 64)
		pieces, rest = append(pieces, p), length
	}
	if !vectors {
		whole, _ := c.descriptor()
		data, _ := firstString(c.Args[len(whole):], false)
		pieces = []piece{{data, c.Ret}}
	}
	left := c.Ret
	for i := range pieces {
		p := &pieces[i]
		p.length = min(p.length, left)
		p.data = p.data[:min(int64(len(p.data)), p.length)]
		left -= p.length
	}
	if left > 0 {
		pieces = append(pieces, piece{nil, left}) // more elements than the trace shows
	}
	return pieces
}

// firstString decodes the first quoted string in s, which must stand at the beginning if atOnce, and returns what is
// behind it.
func firstString(s string, atOnce bool) ([]byte, string) {
	at := strings.IndexByte(s, '"')
	if at < 0 || atOnce && at > 0 {
		return nil, s
	}
	var b []byte
	for i := at + 1; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return b, s[i+1:]
		case s[i] != '\\' || i+1 == len(s):
			b = append(b, s[i])
			continue
		}
		i++
		if at := strings.IndexByte(`abtnvfr`, s[i]); at >= 0 {
			b = append(b, "\a\b\t\n\v\f\r"[at])
			continue
		}
		digits, base := "01234567", 8
		n := 3
		if s[i] == 'x' {
			i++
			digits, base, n = "0123456789abcdefABCDEF", 16, 2
		}
		end := i
		for end < len(s) && end < i+n && strings.IndexByte(digits, s[end]) >= 0 {
			end++
		}
		if end == i { // \\ and \"
			b = append(b, s[i])
			continue
		}
		v, _ := strconv.ParseUint(s[i:end], base, 16)
		b = append(b, byte(v))
		i = end - 1
	}
	return b, ""
}
