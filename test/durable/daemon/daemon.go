package daemon

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Command is how to start the program.
type Command struct {
	Argv []string
	Env  []string // added to this process's environment
	// URI is where the export will be. When it is empty the program prints it, as the first nbd: or nbd+unix: URI on
	// its standard output.
	URI string
	// End ends the program at once, where that is not done by SIGKILL; nil otherwise.
	End func() error
	// Output gets what the program prints, and may be nil.
	Output io.Writer
}

// EndedError says that the program has ended though it should not, or was not ready in time.
type EndedError struct {
	Argv   []string
	Reason string
	Tail   string // of what it printed
}

func (e *EndedError) Error() string {
	s := fmt.Sprintf("%s: %s", strings.Join(e.Argv, " "), e.Reason)
	if e.Tail != "" {
		s += "; it printed:\n" + e.Tail
	}
	return s
}

// Daemon is a running program, with everything in its process group.
//
// Ownership: started by Start, ended by Kill or Stop, which wait for its goroutines.
type Daemon struct {
	// Fixed after construction.
	argv  []string
	end   func() error
	cmd   *exec.Cmd
	uri   chan string   // gets the URI, once
	ended chan struct{} // closed when the process is gone and everything it printed was read
	err   error         // of Wait; set before ended is closed

	mu     sync.Mutex
	tail   []string // the last lines that it printed
	output io.Writer
}

// tailLines is how many lines are kept for an error.
const tailLines = 30

// endTime is how long Command.End may take to have its effect before SIGKILL follows.
const endTime = 10 * time.Second

var uriPattern = regexp.MustCompile(`nbd(\+unix)?://[^\s"'<>]+`)

// Start starts the program in a process group of its own.
func Start(c Command) (*Daemon, error) {
	cmd := exec.Command(c.Argv[0], c.Argv[1:]...)
	cmd.Env = append(os.Environ(), c.Env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	d := &Daemon{argv: c.Argv, end: c.End, cmd: cmd, uri: make(chan string, 1), ended: make(chan struct{}), output: c.Output}
	if c.URI != "" {
		d.uri <- c.URI
	}
	d.startReaders(stdout, stderr, c.URI == "")
	return d, nil
}

// startReaders starts the daemon's goroutines.
func (d *Daemon) startReaders(stdout, stderr io.Reader, wanted bool) {
	var readers sync.WaitGroup
	readers.Go(func() { d.read(stdout, wanted) })
	readers.Go(func() { d.read(stderr, false) })
	go func() {
		readers.Wait()
		d.err = d.cmd.Wait()
		close(d.ended)
	}()
}

func (d *Daemon) read(r io.Reader, wanted bool) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if uri := uriPattern.FindString(line); wanted && uri != "" {
			d.uri <- uri
			wanted = false
		}
		d.mu.Lock()
		if d.tail = append(d.tail, line); len(d.tail) > tailLines {
			d.tail = d.tail[1:]
		}
		if d.output != nil {
			fmt.Fprintln(d.output, line)
		}
		d.mu.Unlock()
	}
	io.Copy(io.Discard, r)
}

// Ready waits for the URI of the export. Errors: *EndedError, ctx's cause.
func (d *Daemon) Ready(ctx context.Context) (string, error) {
	select {
	case uri := <-d.uri:
		d.uri <- uri
		return uri, nil
	case <-d.ended:
		return "", d.Ended()
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// PID returns the process's number.
func (d *Daemon) PID() int { return d.cmd.Process.Pid }

// Ended returns nil while the program runs, then an *EndedError.
func (d *Daemon) Ended() error {
	select {
	case <-d.ended:
	default:
		return nil
	}
	reason := "ended with exit status 0"
	if d.err != nil {
		reason = d.err.Error()
	}
	return d.fault(reason)
}

func (d *Daemon) fault(reason string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return &EndedError{Argv: d.argv, Reason: reason, Tail: strings.Join(d.tail, "\n")}
}

// Kill ends the whole process group at once, by Command.End or SIGKILL, and waits until it is gone. It is an error if
// the program had ended before.
func (d *Daemon) Kill() error {
	if err := d.Ended(); err != nil {
		return err
	}
	if d.end != nil && d.end() == nil {
		select {
		case <-d.ended:
			return nil
		case <-time.After(endTime):
		}
	}
	d.signal(syscall.SIGKILL)
	<-d.ended
	if status, ok := d.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() && status.Signal() == syscall.SIGKILL {
		return nil
	}
	return d.Ended()
}

// Stop asks the program to end, by SIGTERM, and waits until it is gone. Errors: *EndedError when its exit status is not
// 0, or when it had to be killed after patience.
func (d *Daemon) Stop(patience time.Duration) error {
	if err := d.Ended(); err != nil {
		return err
	}
	syscall.Kill(d.cmd.Process.Pid, syscall.SIGTERM)
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-d.ended:
	case <-timer.C:
		d.signal(syscall.SIGKILL)
		<-d.ended
		return d.fault(fmt.Sprintf("still there %v after SIGTERM", patience))
	}
	if d.err != nil {
		return d.fault("after SIGTERM: " + d.err.Error())
	}
	return nil
}

func (d *Daemon) signal(sig syscall.Signal) {
	if err := syscall.Kill(-d.cmd.Process.Pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		panic(fmt.Sprintf("signal %v to process group %d: %v", sig, d.cmd.Process.Pid, err))
	}
}
