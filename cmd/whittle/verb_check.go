package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"whittle"
	"whittle/carve/compare"
	"whittle/carve/config"
	"whittle/carve/fleet/embedded"
	"whittle/carve/gateway/upstream"
	"whittle/carve/state"
	"whittle/cmdline"
	"whittle/record/recorder"
	"whittle/record/redact"
)

type checkVerb struct {
	Config string  `short:"c" default:"whittle.yaml" placeholder:"FILE" help:"The config (${default})."`
	Rate   float64 `placeholder:"N" help:"Requests a second on each route: list the steps that they would not reach within a day."`
}

// Help gives the examples.
func (checkVerb) Help() string {
	return `Reads the config as "whittle run" would, with its expressions, contracts and certificates, and shows each
route with its defaults. It starts nothing and writes nothing. All faults are listed, each with file, line and column.

Examples:
  whittle check -c whittle.yaml
  whittle check -c whittle.yaml --rate 0.5
  whittle check -c whittle.yaml && whittle run -c whittle.yaml`
}

// Run prints every route as it will be treated, or everything that is wrong.
func (v *checkVerb) Run(s cmdline.Streams) error {
	if !(v.Rate >= 0 && v.Rate <= 1e9) { // nor NaN
		return whittle.Errorf(whittle.Invalid, "--rate %g is not a number of requests a second: write one above 0, such as 0.5", v.Rate)
	}
	f, err := readConfig(v.Config)
	if err != nil {
		return err
	}
	for _, l := range f.Listen {
		if _, err := certificates(l.TLS, slog.New(slog.DiscardHandler)); err != nil {
			return f.Locate(err)
		}
	}
	if err := checkPlaces(f); err != nil {
		return f.Locate(err)
	}
	if err := f.Describe(s.Out); err != nil {
		return err
	}
	for _, err := range elsewhere(f) {
		fmt.Fprintf(s.Out, "warning: %s\n", f.Locate(err))
	}
	if v.Rate > 0 {
		for _, text := range f.Unearned(v.Rate) {
			fmt.Fprintf(s.Out, "warning: %s\n", text)
		}
	}
	fmt.Fprintf(s.Out, "\n%s is good.\n", f.Path)
	return nil
}

// readConfig loads a config and compiles what its routes need at run time, so
// that a fault is found now and placed in the file.
func readConfig(path string) (*config.File, error) {
	f, err := config.Load(path)
	if err != nil {
		return nil, err
	}
	var faults []error
	if _, err := redact.New(f.Redact, redact.NewKey()); err != nil {
		faults = append(faults, whittle.Within("redact", err))
	}
	if _, err := fleetTLS(f.Fleet); err != nil {
		faults = append(faults, err)
	}
	if f.Fleet != nil && f.Fleet.NATS == "" {
		faults = append(faults, embedded.Check())
	}
	faults = append(faults, checkUpstream("monolith", &f.Monolith))
	for i, r := range f.Routes {
		if r.Candidate == nil {
			continue
		}
		field := fmt.Sprintf("routes[%d]", i)
		faults = append(faults, checkUpstream(field+".candidate", r.Candidate))
		if _, err := compare.NewJudge(r.Compare); err != nil {
			faults = append(faults, whittle.Within(field, err))
		}
	}
	if err := errors.Join(faults...); err != nil {
		return nil, f.Locate(err)
	}
	return f, nil
}

// checkUpstream reads the files by which an upstream is spoken to, and says which of its
// sockets are none.
func checkUpstream(field string, u *whittle.Upstream) error {
	faults := []error{}
	for _, raw := range append([]string{u.URL}, u.Others...) {
		path, unix := strings.CutPrefix(raw, "unix://")
		if !unix {
			continue
		}
		if info, err := os.Stat(path); err == nil && info.Mode().Type() != fs.ModeSocket {
			faults = append(faults, whittle.Errorf(whittle.Invalid, "%q is %s, not a socket: write the path on which the server listens", path, kindOf(info)).WithField(field))
		}
	}
	return errors.Join(append(faults, whittle.Within(field, upstream.CheckTLS(u)))...)
}

// checkPlaces says what could not be written where the config says. It changes nothing.
func checkPlaces(f *config.File) error {
	faults := []error{stateFault(f.State)}
	if a := f.Access; a != nil && a.File != "" {
		faults = append(faults, fileFault("access.file", a.File, true, false))
	}
	if r := f.Record; r != nil {
		faults = append(faults, folderFault("record.dir", r.Dir), keyFault(r.KeyFile))
	}
	if f.Fleet != nil && f.Fleet.Store != "" {
		faults = append(faults, folderFault("fleet.store", f.Fleet.Store))
	}
	for i, l := range f.Listen {
		if l.Unix == "" {
			continue
		}
		field := listenerField(f, i)
		if info, err := os.Lstat(l.Unix); err == nil && info.Mode().Type() != fs.ModeSocket {
			faults = append(faults, whittle.Errorf(whittle.Invalid, "%q is already %s, not a socket: write another path", l.Unix, kindOf(info)).WithField(field))
		} else {
			faults = append(faults, missing(field, l.Unix, false))
		}
	}
	return errors.Join(faults...)
}

// stateFault says why a file can be no state file. What is none yet is made; a damaged one is
// put aside, so a text that was never one must not be taken for it.
func stateFault(path string) error {
	if err := fileFault("state", path, false, true); err != nil {
		return err
	}
	file, err := os.Open(path)
	if err != nil {
		return nil // it is made, or state.Open says what is wrong
	}
	defer file.Close()
	head := make([]byte, 512)
	n, _ := io.ReadFull(file, head) // fewer are enough
	head = head[:n]
	isText := n > 0 && utf8.Valid(head[:max(0, n-utf8.UTFMax)]) && !bytes.ContainsFunc(head, func(r rune) bool {
		return unicode.IsControl(r) && !unicode.IsSpace(r)
	})
	if isText && !state.Begins(head) {
		return whittle.Errorf(whittle.Invalid, "%q is a text file, not a state file: write the name of one that whittle makes", path).WithField("state")
	}
	return nil
}

// keyFault says why a file holds no key of a recording; where there is none, one is made.
func keyFault(path string) error {
	const field = "record.key_file"
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return missing(field, path, true)
	case !info.Mode().IsRegular():
		return whittle.Errorf(whittle.Invalid, "%q is %s: write the name of a file", path, kindOf(info)).WithField(field)
	}
	_, err = recorder.LoadKey(path)
	return whittle.Within(field, err)
}

// fileFault says why a file cannot be written. pipes says that it may be anything that takes
// bytes, and makes that its folder is made where there is none.
func fileFault(field, path string, pipes, makes bool) error {
	return placeFault(field, path, "a file", makes, unix.W_OK, func(info fs.FileInfo) bool {
		return info.Mode().IsRegular() || pipes && !info.IsDir() && info.Mode().Type() != fs.ModeSocket
	})
}

// folderFault says why files cannot be made in a folder, which is made where there is none.
func folderFault(field, path string) error {
	return placeFault(field, path, "a folder", true, unix.W_OK|unix.X_OK, fs.FileInfo.IsDir)
}

// placeFault says why something is not what it is to be, or cannot be written to.
func placeFault(field, path, what string, makes bool, mode uint32, is func(fs.FileInfo) bool) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return missing(field, path, makes)
	case !is(info):
		return whittle.Errorf(whittle.Invalid, "%q is %s: write the name of %s", path, kindOf(info), what).WithField(field)
	}
	return unwritable(field, path, mode)
}

// missing says why what is not there cannot be made. deep says that its folder is made with it.
func missing(field, path string, deep bool) error {
	for folder := filepath.Dir(path); ; folder = filepath.Dir(folder) {
		info, err := os.Stat(folder)
		switch {
		case errors.Is(err, fs.ErrNotExist) && deep && folder != filepath.Dir(folder):
			continue
		case errors.Is(err, fs.ErrNotExist):
			return whittle.Errorf(whittle.Invalid, "there is no folder %q: make it, or write another path", folder).WithField(field)
		case errors.Is(err, syscall.ENOTDIR) && folder != filepath.Dir(folder):
			continue // the file on the way is named
		case err != nil:
			return whittle.Errorf(whittle.Invalid, "%w", err).WithField(field)
		case !info.IsDir():
			return whittle.Errorf(whittle.Invalid, "%q is %s, so nothing can be in it: write another path", folder, kindOf(info)).WithField(field)
		}
		return unwritable(field, folder, unix.W_OK|unix.X_OK)
	}
}

// unwritable says why this user may not write to what is there.
func unwritable(field, path string, mode uint32) error {
	err := unix.Faccessat(unix.AT_FDCWD, path, mode, unix.AT_EACCESS)
	switch {
	case err == nil, errors.Is(err, syscall.ENOSYS), errors.Is(err, syscall.EINVAL):
		return nil
	}
	return whittle.Errorf(whittle.PermissionDenied, "%q cannot be written by this user: %w", path, err).WithField(field).
		WithHint("give the user that runs whittle the right to write this file and its folder")
}

// kindOf says what something in a file system is.
func kindOf(info fs.FileInfo) string {
	switch info.Mode().Type() {
	case 0:
		return "a file"
	case fs.ModeDir:
		return "a folder"
	case fs.ModeNamedPipe:
		return "a named pipe"
	case fs.ModeSocket:
		return "a socket"
	case fs.ModeSymlink:
		return "a link"
	}
	return "a device"
}

// elsewhere gives what is in order, and may be missing when whittle runs: addresses that this
// machine does not have, and readers of a pipe.
func elsewhere(f *config.File) (list []error) {
	here, unknown := net.InterfaceAddrs()
	look := func(field, address string) {
		host, _, _ := net.SplitHostPort(address) // a Unix socket has none
		ip := net.ParseIP(host)
		if ip == nil || unknown != nil || ip.IsUnspecified() || ip.IsLoopback() ||
			slices.ContainsFunc(here, func(a net.Addr) bool { n, ok := a.(*net.IPNet); return ok && n.IP.Equal(ip) }) {
			return
		}
		list = append(list, whittle.Errorf(whittle.Invalid, "this machine does not have the address %s, so whittle run cannot listen on it here", host).WithField(field))
	}
	for i, l := range f.Listen {
		look(listenerField(f, i), l.Address)
	}
	look("admin", f.Admin)
	if a := f.Access; a != nil {
		if info, err := os.Stat(a.File); err == nil && info.Mode().Type() == fs.ModeNamedPipe && !strings.HasPrefix(a.File, "/dev/") {
			list = append(list, whittle.Errorf(whittle.Invalid, "%q is a named pipe: whittle run starts only while something reads it", a.File).WithField("access.file"))
		}
	}
	return list
}
