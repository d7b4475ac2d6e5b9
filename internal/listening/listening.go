// Package listening has the listening sockets of a process: those that it binds, those
// that systemd binds for it (socket activation), and those that it takes over from the
// process that it replaces. A socket that is passed on is open at every moment, so a
// client that connects meanwhile waits and is not refused.
package listening

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// Address is where to listen.
type Address struct {
	// TCP is HOST:PORT, the host possibly empty.
	TCP string
	// Unix is the path of a Unix socket; TCP is empty then.
	Unix string
	// Mode is that of the Unix socket's file. On Linux whoever it keeps out could not connect
	// before either. 0: as the process's umask has it, or as the process has it that binds it.
	Mode fs.FileMode
}

// String is the address as it is configured.
func (a Address) String() string {
	if a.Unix != "" {
		return "unix:" + a.Unix
	}
	return a.TCP
}

// Set is the sockets of a process. Its methods may be called by several goroutines.
type Set struct {
	mu sync.Mutex // guards the following
	// passed are sockets that were passed to this process and not asked for yet.
	passed []socket
	open   []socket
	// modes are those that the files of sockets are to get that were taken over, by path.
	modes map[string]fs.FileMode
}

// socket is a listening socket with the address that was configured for it; empty: not
// known.
type socket struct {
	name string
	l    net.Listener
}

const (
	// passedEnv has the configured addresses of the sockets that a process passes to
	// the one that replaces it, as a list of quoted texts. Their descriptors begin at
	// the number in front.
	passedEnv = "WHITTLE_SOCKETS"
	// firstFile is the first descriptor of what a process inherits.
	firstFile = 3
	// maxPassed bounds the sockets that are taken over.
	maxPassed = 1024
)

// Inherited takes over the sockets that were passed to this process, by systemd or by
// the process that it replaces. Processes that this one starts do not get them.
func Inherited() (*Set, error) {
	s := &Set{}
	first, names, err := inheritedNames()
	if err != nil {
		return nil, err
	}
	for i, name := range names {
		f := os.NewFile(uintptr(first+i), cmp.Or(name, "inherited socket"))
		l, err := net.FileListener(f)
		_ = f.Close() // the listener has a descriptor of its own
		if err != nil {
			return nil, errors.Join(fmt.Errorf("take over the inherited socket %d: %w", first+i, err), s.Close())
		}
		s.passed = append(s.passed, socket{name, l})
	}
	return s, nil
}

// inheritedNames gives the first descriptor of what was inherited, and the configured
// address of each socket.
func inheritedNames() (first int, names []string, err error) {
	defer func() {
		for _, name := range []string{passedEnv, "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES"} {
			_ = os.Unsetenv(name) // it can always be
		}
	}()
	if text := os.Getenv(passedEnv); text != "" {
		number, rest, _ := strings.Cut(text, " ")
		if first, err = strconv.Atoi(number); err != nil {
			return 0, nil, fmt.Errorf("%s: %w", passedEnv, err)
		}
		for rest != "" {
			quoted, err := strconv.QuotedPrefix(rest)
			if err != nil {
				return 0, nil, fmt.Errorf("%s: %w", passedEnv, err)
			}
			name, _ := strconv.Unquote(quoted) // what QuotedPrefix gives can be
			names, rest = append(names, name), rest[len(quoted):]
		}
		return first, names, nil
	}
	if os.Getenv("LISTEN_PID") != strconv.Itoa(os.Getpid()) {
		return 0, nil, nil // for another process, or none
	}
	n, err := strconv.Atoi(os.Getenv("LISTEN_FDS"))
	if err != nil || n < 0 || n > maxPassed {
		return 0, nil, fmt.Errorf("LISTEN_FDS is %q, and must be a number of sockets", os.Getenv("LISTEN_FDS"))
	}
	return firstFile, make([]string, n), nil
}

// Listen gives the socket that was passed for an address, or binds one. A socket that
// systemd has bound is known by the address to which it is bound.
func (s *Set) Listen(ctx context.Context, at Address) (net.Listener, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.passed, func(k socket) bool { return k.name == at.String() })
	if i < 0 {
		i = slices.IndexFunc(s.passed, func(k socket) bool { return k.name == "" && bound(k.l.Addr(), at) })
	}
	var l net.Listener
	if i >= 0 {
		l = s.passed[i].l
		if at.Unix != "" && at.Mode != 0 && s.passed[i].name != "" {
			if s.modes == nil {
				s.modes = map[string]fs.FileMode{}
			}
			s.modes[at.Unix] = at.Mode
		}
		s.passed = slices.Delete(s.passed, i, i+1)
	} else {
		var err error
		if l, err = bind(ctx, at); err != nil {
			return nil, err
		}
	}
	s.open = append(s.open, socket{at.String(), l})
	return l, nil
}

// SetModes gives the files of the Unix sockets that were taken over from another process the
// modes that were asked for. It is for who has taken over, or is about to: until then that
// process's config holds. The file of a socket that systemd binds has the mode that systemd
// gives it.
func (s *Set) SetModes() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for path, mode := range s.modes {
		info, err := os.Lstat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist): // nobody can connect to what has no name
		case err != nil:
			errs = append(errs, err)
		case info.Mode().Type() != fs.ModeSocket:
			errs = append(errs, fmt.Errorf("%s is no socket any more", path))
		default:
			errs = append(errs, os.Chmod(path, mode))
		}
	}
	s.modes = nil
	return errors.Join(errs...)
}

// Unused gives the sockets that were passed to this process and that nobody has asked
// for, and closes them.
func (s *Set) Unused() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for _, k := range s.passed {
		names = append(names, cmp.Or(k.name, k.l.Addr().String()))
		_ = k.l.Close() // nobody accepts from it
	}
	s.passed = nil
	return names
}

// Pass has a command that is to replace this process get the open sockets. Once it is
// started, its ExtraFiles are to be closed.
func (s *Set) Pass(cmd *exec.Cmd) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := strconv.Itoa(firstFile + len(cmd.ExtraFiles))
	var files []*os.File
	for i, k := range s.open {
		f, err := copyOf(k.l)
		if err != nil {
			for _, f := range files {
				_ = f.Close() // nothing was written
			}
			return fmt.Errorf("pass the socket of %s on: %w", k.name, err)
		}
		files = append(files, f)
		if i == 0 {
			text += " "
		}
		text += strconv.Quote(k.name)
	}
	cmd.ExtraFiles = append(cmd.ExtraFiles, files...)
	cmd.Env = append(cmd.Env, passedEnv+"="+text)
	return nil
}

// copyOf gives a listener's socket as a file. The file of net's own File would make the
// socket block for whoever starts a process with it, in this process too: Accept would
// wait in a system call that Close does not end, and take the successor's next client.
func copyOf(l net.Listener) (*os.File, error) {
	c, ok := l.(syscall.Conn)
	if !ok {
		return nil, fmt.Errorf("%T has no file", l)
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	var f *os.File
	if failed := raw.Control(func(fd uintptr) { f, err = duplicate(fd) }); failed != nil {
		return nil, failed
	}
	return f, err
}

// Close closes all sockets.
func (s *Set) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, k := range slices.Concat(s.open, s.passed) {
		if err := k.l.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	s.open, s.passed = nil, nil
	return errors.Join(errs...)
}

// Advice says what to do where listening on an address has failed.
func Advice(err error) string {
	var dns *net.DNSError
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return "another process is there: end it, or choose another address"
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		return "this user may not: ports below 1024 are root's or of those with CAP_NET_BIND_SERVICE; choose another address"
	case errors.Is(err, syscall.EADDRNOTAVAIL), errors.As(err, &dns):
		return "it is no address of this machine: write :PORT for all that it has, or 127.0.0.1:PORT for itself alone"
	}
	return "choose another address"
}

func bind(ctx context.Context, at Address) (net.Listener, error) {
	var lc net.ListenConfig
	if at.Unix == "" {
		return lc.Listen(ctx, "tcp", at.TCP)
	}
	if err := removeStale(ctx, at.Unix); err != nil {
		return nil, err
	}
	l, err := listenUnix(ctx, at)
	if err != nil {
		return nil, err
	}
	if u, ok := l.(*net.UnixListener); ok {
		u.SetUnlinkOnClose(false) // another process may listen on it by then
	}
	if at.Mode != 0 {
		if err := os.Chmod(at.Unix, at.Mode); err != nil {
			return nil, errors.Join(err, l.Close())
		}
	}
	return l, nil
}

// listenUnix binds a Unix socket whose file has no bit that Mode has not, from its first moment on.
// The umask may keep it from some that Mode has.
func listenUnix(ctx context.Context, at Address) (net.Listener, error) {
	var lc net.ListenConfig
	if at.Mode != 0 {
		lc.Control = func(_, _ string, c syscall.RawConn) error {
			return c.Control(func(fd uintptr) { restrict(fd, at.Mode) })
		}
	}
	return lc.Listen(ctx, "unix", at.Unix)
}

// removeStale removes the file of a Unix socket on which nobody listens any more.
func removeStale(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%s is there already, and is no socket", path)
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", path)
	if err == nil {
		_ = c.Close() // nothing was sent
		return fmt.Errorf("another process listens on %s", path)
	}
	if !refused(err) {
		return fmt.Errorf("nobody can tell whether a process listens on %s: %w", path, err)
	}
	return os.Remove(path)
}

// bound reports whether a socket is bound to what an address says.
func bound(a net.Addr, at Address) bool {
	switch a := a.(type) {
	case *net.UnixAddr:
		return at.Unix != "" && a.Name == at.Unix
	case *net.TCPAddr:
		if at.Unix != "" {
			return false
		}
		want, err := net.ResolveTCPAddr("tcp", at.TCP)
		if err != nil || want.Port != a.Port {
			return false
		}
		here, there := address(a.IP), address(want.IP)
		return here == there || here.IsUnspecified() && there.IsUnspecified()
	}
	return false
}

func address(ip net.IP) netip.Addr {
	a, ok := netip.AddrFromSlice(ip)
	if !ok {
		return netip.IPv6Unspecified()
	}
	return a.Unmap()
}
