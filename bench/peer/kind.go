package peer

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// Kind is a server, and how it is started.
type Kind struct {
	Name string
	// Command returns the command line; place says where things are.
	Command func(p Place) []string
	// Prepare makes what the server needs, before it starts; may be nil.
	Prepare func(p Place) error
	// Env is added to the server's environment; may be nil.
	Env func(p Place) []string
	// Setup tells the running server what it serves; may be nil.
	Setup func(ctx context.Context, p Place) error
	// URI returns where its export is. nil: the server prints it.
	URI func(p Place) string
	// Nowhere says that its disk is no memory.
	Nowhere bool
	// Abrupt says that it does not end when it is asked to.
	Abrupt bool
}

// Place says where a server has its files, and how large its disk is.
type Place struct {
	Srpd   string // the program
	Bench  string // this program
	Dir    string // of the server alone, on a disk
	Memory string // the same, in memory
	Size   uint64
	Port   int // of TCP, for those that need one; it was free when the place was made
}

// Socket is where an NBD server listens.
func (p Place) Socket() string { return filepath.Join(p.Dir, "nbd.sock") }

func (p Place) size() string { return strconv.FormatUint(p.Size, 10) }

func (p Place) image() string { return filepath.Join(p.Memory, "disk") }

// The kinds of servers.
var (
	Srpd       = srpd("srpd", "--store", "ram")
	SrpdFile   = srpd("srpd file", "--store", "file")
	SrpdBadger = srpd("srpd badger", "--store", "badger")
	// SrpdRun is what make run starts.
	SrpdRun = Kind{Name: "srpd run", Command: func(p Place) []string {
		return []string{p.Srpd, "run", "--embedded", "--state-dir", p.Dir}
	}}
	// Slice is srpd's NBD server over plain memory, without SRP below.
	Slice = Kind{Name: "slice", URI: unixURI(""), Command: func(p Place) []string {
		return []string{p.Bench, "serve", "--socket", p.Socket(), "--size", p.size()}
	}}

	Nbdkit       = nbdkit("nbdkit memory", nil, "memory", "allocator=malloc")
	NbdkitSingle = nbdkit("nbdkit -t 1 memory", []string{"-t", "1"}, "memory", "allocator=malloc")
	NbdkitNull   = nowhere(nbdkit("nbdkit null", nil, "null"))

	QSDFile = qsd("qsd file", func(p Place) string { return "driver=file,node-name=disk,filename=" + p.image() }, fill)
	QSDNull = nowhere(qsd("qsd null-co", func(p Place) string { return "driver=null-co,node-name=disk,size=" + p.size() }, nil))
)

func srpd(name string, store ...string) Kind {
	return Kind{Name: name, Command: func(p Place) []string {
		return append([]string{p.Srpd, "run", "--embedded", "--size", p.size(), "--state-dir", p.Dir}, store...)
	}}
}

func nbdkit(name string, options []string, plugin string, args ...string) Kind {
	return Kind{Name: name, URI: unixURI(""), Command: func(p Place) []string {
		argv := append([]string{"nbdkit", "-f", "-U", p.Socket()}, options...)
		return append(append(argv, plugin, p.size()), args...)
	}}
}

func qsd(name string, node func(Place) string, prepare func(Place) error) Kind {
	return Kind{Name: name, URI: unixURI("disk"), Prepare: prepare, Command: func(p Place) []string {
		return []string{
			"qemu-storage-daemon", "--blockdev", node(p), "--nbd-server", "addr.type=unix,addr.path=" + p.Socket(),
			"--export", "type=nbd,id=export,node-name=disk,name=disk,writable=on",
		}
	}}
}

func nowhere(k Kind) Kind {
	k.Nowhere = true
	return k
}

func unixURI(export string) func(Place) string {
	return func(p Place) string { return "nbd+unix:///" + export + "?socket=" + p.Socket() }
}

// fill makes a file in memory that has all its space.
func fill(p Place) error {
	f, err := os.Create(p.image())
	if err != nil {
		return err
	}
	defer f.Close()
	const step = 1 << 20
	zeros := make([]byte, step)
	for at := uint64(0); at < p.Size; at += step {
		if _, err := f.Write(zeros[:min(step, p.Size-at)]); err != nil {
			return err
		}
	}
	return nil
}

// packages are Debian's names of what brings a program.
var packages = map[string]string{
	"nbdkit": "nbdkit", "qemu-storage-daemon": "qemu-system-common", "fio": "fio", "tgtd": "tgt", "tgtadm": "tgt", "iscsi-perf": "libiscsi-bin",
}

// Package returns the Debian package of a program, or nothing.
func Package(program string) string { return packages[filepath.Base(program)] }

// MissingError says that a program is not installed.
type MissingError struct{ Program string }

func (e *MissingError) Error() string {
	if p := Package(e.Program); p != "" {
		return fmt.Sprintf("%s is not installed: Debian has it in %s", e.Program, p)
	}
	return e.Program + " is not there"
}

// Have says whether a program is there. Errors: *MissingError.
func Have(program string) error {
	if _, err := exec.LookPath(program); err != nil {
		return &MissingError{Program: program}
	}
	return nil
}
