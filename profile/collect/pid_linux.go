package collect

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"whittle"
)

// openPID opens the inspector of a Node process on this machine, or py-spy on a Python
// process.
func openPID(ctx context.Context, pid int) (Source, error) {
	if s, ok, err := openPython(pid); ok {
		return s, err
	}
	if err := checkNode(pid); err != nil {
		return nil, err
	}
	before, err := listening(pid)
	if err != nil {
		return nil, whittle.Errorf(whittle.Unavailable, "profile process %d: %w", pid, err)
	}
	if inspected(pid) {
		for _, address := range before {
			if ws, err := inspectorAt(ctx, "http://"+address); err == nil {
				return dialInspector(ctx, ws, false) // it was open: it stays open
			}
		}
	}
	if err := syscall.Kill(pid, syscall.SIGUSR1); err != nil {
		return nil, whittle.Errorf(whittle.Unavailable, "open inspector of process %d: %w", pid, err)
	}
	ws, opened, err := awaitInspector(ctx, pid, before)
	if err != nil {
		return nil, whittle.Errorf(whittle.Unavailable, "open inspector of process %d: %w", pid, err).
			WithHint("the port 9229 may be taken by another process; start this one with --inspect-port=0")
	}
	return dialInspector(ctx, ws, opened)
}

// checkNode refuses a process that SIGUSR1 would end: one that is not Node's,
// or that handles the signal in no way.
func checkNode(pid int) error {
	folder := filepath.Join("/proc", strconv.Itoa(pid))
	exe, err := os.Readlink(filepath.Join(folder, "exe"))
	if err != nil {
		return whittle.Errorf(whittle.NotFound, "profile process %d: %w", pid, err).
			WithHint("give the id of a process of your own that runs")
	}
	status, err := os.ReadFile(filepath.Join(folder, "status"))
	if err != nil {
		return whittle.Errorf(whittle.NotFound, "profile process %d: %w", pid, err)
	}
	if !strings.HasPrefix(filepath.Base(exe), "node") || !catches(string(status), syscall.SIGUSR1) {
		return whittle.Errorf(whittle.Invalid, "profile process %d: %s is not Node, and SIGUSR1 might end it", pid, filepath.Base(exe)).
			WithHint("a Go service is profiled by the URL of its pprof; of Java, and of anything else, give what async-profiler or perf script wrote")
	}
	return nil
}

// catches says whether a process has a handler of its own for a signal, by the
// mask SigCgt of /proc/PID/status (see proc(5)).
func catches(status string, sig syscall.Signal) bool {
	for line := range strings.Lines(status) {
		if mask, ok := strings.CutPrefix(line, "SigCgt:"); ok {
			bits, err := strconv.ParseUint(strings.TrimSpace(mask), 16, 64)
			return err == nil && bits&(1<<(uint(sig)-1)) != 0
		}
	}
	return false
}

// inspected says whether a process was started with its inspector open. Only
// then are its ports asked for one: the others are its users'.
func inspected(pid int) bool {
	line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	return err == nil && slices.ContainsFunc(strings.Split(string(line), "\x00"), func(arg string) bool {
		return arg == "--inspect" || strings.HasPrefix(arg, "--inspect=") || strings.HasPrefix(arg, "--inspect-brk") || strings.HasPrefix(arg, "--inspect-wait")
	})
}

// openWithin is how long the inspector may take to open before what the process
// listened on already is asked for one: somebody may have sent the signal before.
const openTimeout = 2 * time.Second

// awaitInspector looks for the inspector among what the process listens on and
// did not listen on before. opened says that it was opened just now.
func awaitInspector(ctx context.Context, pid int, before []string) (ws string, opened bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, responseTimeout)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	last, began := errors.New("it listens nowhere"), time.Now()
	for {
		addresses, err := listening(pid)
		if err != nil {
			return "", false, err
		}
		for _, a := range addresses {
			old := slices.Contains(before, a)
			if old && time.Since(began) < openTimeout {
				continue
			}
			ws, err := inspectorAt(ctx, "http://"+a)
			if err == nil {
				return ws, !old, nil
			}
			last = err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return "", false, fmt.Errorf("it did not open: %w", last)
		}
	}
}

// listening gives the loopback addresses at which a process can be reached:
// its sockets by /proc/PID/fd, their ports by /proc/PID/net/tcp.
func listening(pid int) ([]string, error) {
	folder := filepath.Join("/proc", strconv.Itoa(pid))
	fds, err := os.ReadDir(filepath.Join(folder, "fd"))
	if err != nil {
		return nil, err
	}
	sockets := map[string]bool{}
	for _, fd := range fds {
		if to, err := os.Readlink(filepath.Join(folder, "fd", fd.Name())); err == nil {
			if inode, ok := strings.CutPrefix(to, "socket:["); ok {
				sockets[strings.TrimSuffix(inode, "]")] = true
			}
		}
	}
	var out []string
	for _, file := range []string{"tcp", "tcp6"} {
		for _, s := range readListeners(filepath.Join(folder, "net", file)) {
			if sockets[s.inode] {
				out = append(out, fmt.Sprintf("127.0.0.1:%d", s.port))
			}
		}
	}
	return out, nil
}

// Locate finds what to profile of the processes of this machine that listen at
// a URL's port: a Node process's id, or the address of a Go one's pprof. Only
// processes that this user may look into are found.
func Locate(ctx context.Context, at string) ([]string, error) {
	port, err := portOf(at)
	if err != nil {
		return nil, err
	}
	inodes := map[string]bool{}
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		for _, l := range readListeners(file) {
			if l.port == port {
				inodes["socket:["+l.inode+"]"] = true
			}
		}
	}
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, whittle.Errorf(whittle.Internal, "find the process at %s: %w", at, err)
	}
	var out []string
	for _, folder := range processes {
		if pid, err := strconv.Atoi(filepath.Base(folder)); err == nil && holds(folder, inodes) {
			if target, ok := profileable(ctx, pid, port); ok {
				out = append(out, target)
			}
		}
	}
	if len(out) == 0 {
		return nil, whittle.Errorf(whittle.NotFound, "find the process at %s: none of this machine listens there that is Node's, or shows Go's pprof", at).
			WithHint("give the process's id, or the URL of its pprof or inspector, as TARGET")
	}
	return out, nil
}

func portOf(at string) (int, error) {
	u, err := url.Parse(at)
	if err != nil || u.Host == "" {
		return 0, whittle.Errorf(whittle.Invalid, "find the process at %s: not a URL", at)
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "h2c": "80", "https": "443"}[u.Scheme]
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		return 0, whittle.Errorf(whittle.Invalid, "find the process at %s: no port", at)
	}
	return n, nil
}

// holds says whether a process has one of some sockets open.
func holds(folder string, inodes map[string]bool) bool {
	fds, err := os.ReadDir(filepath.Join(folder, "fd"))
	if err != nil { // it has ended, or is another user's
		return false
	}
	for _, fd := range fds {
		if to, err := os.Readlink(filepath.Join(folder, "fd", fd.Name())); err == nil && inodes[to] {
			return true
		}
	}
	return false
}

// profileable gives the target to profile a process by. A Go service may show
// its pprof on any of its ports; the users' own is asked last.
func profileable(ctx context.Context, pid, port int) (string, bool) {
	if checkNode(pid) == nil {
		return strconv.Itoa(pid), true
	}
	addresses, err := listening(pid)
	if err != nil {
		return "", false
	}
	users := fmt.Sprintf("127.0.0.1:%d", port)
	addresses = append(slices.DeleteFunc(addresses, func(a string) bool { return a == users }), users)
	for _, a := range addresses {
		u := &url.URL{Scheme: "http", Host: a}
		if _, err := openPprof(ctx, u); err == nil {
			return u.String(), true
		}
	}
	return "", false
}
