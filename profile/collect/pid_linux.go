package collect

import (
	"cmp"
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
	"whittle/internal/notify"
)

// openPID opens the inspector of a Node process on this machine. Among others the inspector
// is moved to a free port, so that the next one finds the usual port free.
func openPID(ctx context.Context, pid int, among bool) (Source, error) {
	if err := awaitNode(ctx, pid); err != nil {
		return nil, err
	}
	if err := reachable(pid, proc(pid)); err != nil {
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
	if isStopped(pid) { // the signal would wait, and open an inspector that nobody closes
		return nil, closedFor(pid, nil)
	}
	if err := syscall.Kill(pid, syscall.SIGUSR1); err != nil {
		return nil, whittle.Errorf(whittle.Unavailable, "open inspector of process %d: %w", pid, err)
	}
	i, err := opened(context.WithoutCancel(ctx), pid, before, among)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, errors.Join(whittle.Errorf(whittle.Unavailable, "open inspector of process %d: %w", pid, err), i.Close(ctx))
	}
	return i, nil
}

// opened begins a session with the inspector that a signal opens. It must, though who
// asked for it has gone meanwhile: nobody else would close it.
func opened(ctx context.Context, pid int, before []string, among bool) (*inspector, error) {
	ws, opened, err := awaitInspector(ctx, pid, before)
	if err == nil && opened && among {
		ws, err = moveInspector(ctx, pid, ws)
	}
	if err != nil {
		return nil, closedFor(pid, err)
	}
	i, err := dialInspector(ctx, ws, opened)
	if err != nil {
		return nil, err
	}
	i.pid = pid
	return i, nil
}

// inspectorPort is where Node opens its inspector unless it is told another port.
const inspectorPort = 9229

// closedFor says why the inspector of a process did not open, as far as that shows.
func closedFor(pid int, err error) error {
	say := func(hint, format string, args ...any) error {
		return whittle.Errorf(whittle.Unavailable, "open inspector of process %d: "+format, append([]any{pid}, args...)...).WithHint(hint)
	}
	switch {
	case ended(pid):
		return say("start it again, and give its new id", "it has ended meanwhile")
	case isStopped(pid):
		return say(fmt.Sprintf("let it go on: kill -CONT %d", pid), "it is stopped, by a signal or a debugger")
	}
	anyPort, its := startedWith(pid, "--inspect-port=0"), socketsOf(proc(pid))
	for _, l := range listeners("/proc/net") {
		if l.port == inspectorPort && !anyPort && !its[l.inode] {
			return say("start this one with --inspect-port=0, or end the other one's; with --inspect=127.0.0.1:0 where it has a handler of its own for SIGUSR1, which was called now",
				"the port %d is taken by another process, unless this one handles SIGUSR1 itself: %w", inspectorPort, err)
		}
	}
	return say("start it with --inspect=127.0.0.1:0 where it has a handler of its own for SIGUSR1, which was called now; where its thread is busy in native code, try again",
		"it handles SIGUSR1 itself, or has not come to it: %w", err)
}

// proc is the path of a file that the kernel has of a process.
func proc(pid int, file ...string) string {
	return filepath.Join("/proc", strconv.Itoa(pid), filepath.Join(file...))
}

// argumentsOf are a process's, its program first.
func argumentsOf(pid int) []string {
	line, _ := os.ReadFile(proc(pid, "cmdline")) // none: it has ended
	return strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00")
}

// statOf are the fields of a process's stat behind its name, its state first, as ps shows
// it: R, S, T, Z. None: there is no such process.
func statOf(pid int) []string {
	stat, _ := os.ReadFile(proc(pid, "stat"))
	return strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
}

// isStopped reports whether a process is, by a signal or a debugger.
func isStopped(pid int) bool {
	stat := statOf(pid)
	return len(stat) > 0 && (stat[0] == "T" || stat[0] == "t")
}

// ended reports whether a process has.
func ended(pid int) bool {
	stat := statOf(pid)
	return len(stat) == 0 || stat[0] == "Z"
}

// moveInspector moves an inspector that was opened just now to a free port.
func moveInspector(ctx context.Context, pid int, ws string) (string, error) {
	before, err := listening(pid)
	if err != nil {
		return "", err
	}
	i, err := dialInspector(ctx, ws, false)
	if err != nil {
		return "", err
	}
	// Later, when this session has ended: it would be closed from both sides at once.
	err = i.evaluate(ctx, "(i => void setTimeout(() => { i.close(); i.open(0, '127.0.0.1'); }, 200))(require('inspector'))", nil)
	i.hangUp()
	if err != nil {
		return "", err
	}
	ws, _, err = awaitInspector(ctx, pid, before)
	return ws, err
}

// startTimeout is how long a process may take until it can be signalled, and pollEvery how
// often it is looked at meanwhile.
const (
	startTimeout = 3 * time.Second
	pollEvery    = 20 * time.Millisecond
)

// awaitNode waits for a process that is only starting, and refuses one that SIGUSR1
// would end: one that is not Node's, or that handles the signal in no way.
func awaitNode(ctx context.Context, pid int) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		err := checkNode(pid)
		if whittle.CodeOf(err) != whittle.FailedPrecondition || !notify.Sleep(ctx, pollEvery) {
			return err
		}
	}
}

// checkNode says whether a process may be signalled. One that may be later fails a
// precondition.
func checkNode(pid int) error {
	exe, err := os.Readlink(proc(pid, "exe"))
	if os.IsPermission(err) {
		return whittle.Errorf(whittle.PermissionDenied, "profile process %d: it is another user's: %w", pid, err).
			WithHint("run whittle as the user that runs it, or as root")
	}
	if err != nil {
		return whittle.Errorf(whittle.NotFound, "profile process %d: there is none: %w", pid, err).
			WithHint("give the id of a process of your own that runs")
	}
	status, err := os.ReadFile(proc(pid, "status"))
	if err != nil {
		return whittle.Errorf(whittle.NotFound, "profile process %d: %w", pid, err)
	}
	name := filepath.Base(exe)
	switch {
	case strings.HasPrefix(name, "deno"):
		return whittle.Errorf(whittle.Unsupported, "profile process %d: it is Deno's, which opens no inspector by a signal", pid).
			WithHint("start it with --inspect=127.0.0.1:9229, and give http://127.0.0.1:9229")
	case strings.HasPrefix(name, "bun"):
		return whittle.Errorf(whittle.Unsupported, "profile process %d: it is Bun's, whose debugger is not V8's", pid).
			WithHint("run it with --cpu-prof, and give the .cpuprofile that it writes as it ends")
	case !strings.HasPrefix(name, "node"):
		return whittle.Errorf(whittle.Invalid, "profile process %d: %s is not Node, and SIGUSR1 might end it", pid, name).
			WithHint("a Go service is profiled by the URL of its pprof; other runtimes are not profiled")
	case !catches(string(status), syscall.SIGUSR1) && startedWith(pid, "--disable-sigusr1"):
		return whittle.Errorf(whittle.Unsupported, "profile process %d: it was started with --disable-sigusr1: SIGUSR1 might end it", pid).
			WithHint("start it with --inspect=127.0.0.1:0 instead")
	case !catches(string(status), syscall.SIGUSR1):
		return whittle.Errorf(whittle.FailedPrecondition, "profile process %d: it is still starting, or ignores SIGUSR1, which might end it", pid).
			WithHint("try again; or start it with --inspect=127.0.0.1:0")
	}
	return nil
}

// startedWith reports whether a process has a flag of Node's, on its command line or in
// its environment.
func startedWith(pid int, flag string) bool {
	if slices.Contains(argumentsOf(pid), flag) {
		return true
	}
	environment, _ := os.ReadFile(proc(pid, "environ")) // none: it is another user's
	return slices.ContainsFunc(strings.Split(string(environment), "\x00"), func(variable string) bool {
		options, ok := strings.CutPrefix(variable, "NODE_OPTIONS=")
		return ok && slices.Contains(strings.Fields(options), flag)
	})
}

// reachable refuses a process whose network is another one, as a container's is: its
// inspector would open there, and stay open.
func reachable(pid int, folder string) error {
	own, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		return nil //nolint:nilerr // it is not known then
	}
	its, err := os.Readlink(filepath.Join(folder, "ns", "net"))
	if err != nil || its == own {
		return nil //nolint:nilerr // as above
	}
	return whittle.Errorf(whittle.FailedPrecondition, "profile process %d: it is in a network of its own, as in a container: its inspector cannot be reached from here", pid).
		WithHint(fmt.Sprintf("run whittle in that network: nsenter -t %d -n whittle profile %d; or in the container", pid, pid))
}

// Workers are the workers of a Node cluster, by its first process. None: it has none.
func Workers(pid int) []int {
	var out []int
	for _, child := range children(pid) {
		env, err := os.ReadFile(proc(child, "environ"))
		if err == nil && checkNode(child) == nil && strings.Contains("\x00"+string(env), "\x00NODE_UNIQUE_ID=") {
			out = append(out, child)
		}
	}
	return out
}

// children are the processes that a process started and that run.
func children(pid int) []int {
	files, _ := filepath.Glob(proc(pid, "task", "*", "children")) // a pattern that is one
	var out []int
	for _, file := range files {
		b, _ := os.ReadFile(file)
		for field := range strings.FieldsSeq(string(b)) {
			if child, err := strconv.Atoi(field); err == nil {
				out = append(out, child)
			}
		}
	}
	slices.Sort(out)
	return out
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
	return slices.ContainsFunc(argumentsOf(pid), func(arg string) bool {
		return arg == "--inspect" || strings.HasPrefix(arg, "--inspect=") || strings.HasPrefix(arg, "--inspect-brk") || strings.HasPrefix(arg, "--inspect-wait")
	})
}

// openTimeout is how long the inspector may take to open before what the process
// listened on already is asked for one: somebody may have sent the signal before.
const openTimeout = 2 * time.Second

// awaitInspector looks for the inspector among what the process listens on and
// did not listen on before. opened says that it was opened just now. Where another whittle
// closes the one that it had opened, which the signal changed nothing of, there is a signal
// again.
func awaitInspector(ctx context.Context, pid int, before []string) (ws string, opened bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, responseTimeout)
	defer cancel()
	last, began := errors.New("it listens nowhere"), time.Now()
	for {
		addresses, err := listening(pid)
		if err != nil {
			return "", false, err
		}
		if slices.ContainsFunc(before, func(a string) bool { return !slices.Contains(addresses, a) }) {
			if err := syscall.Kill(pid, syscall.SIGUSR1); err != nil {
				return "", false, err
			}
			before, began = addresses, time.Now()
		}
		for _, a := range addresses {
			old := slices.Contains(before, a)
			if old && time.Since(began) < openTimeout {
				continue
			}
			ws, err := askInspector(ctx, "http://"+a)
			if err == nil {
				return ws, !old, nil
			}
			last = err
		}
		if !notify.Sleep(ctx, pollEvery) {
			return "", false, fmt.Errorf("it did not open: %w", last)
		}
	}
}

// askInspector is inspectorAt within a second: an address may be the service's own, which
// has no response to what an inspector is asked for.
func askInspector(ctx context.Context, base string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return inspectorAt(ctx, base)
}

// socketsOf are the inodes of a process's sockets, by its folder. nil: it has ended, or is
// another user's.
func socketsOf(folder string) map[string]bool {
	fds, err := os.ReadDir(filepath.Join(folder, "fd"))
	if err != nil {
		return nil
	}
	out := map[string]bool{}
	for _, fd := range fds {
		to, _ := os.Readlink(filepath.Join(folder, "fd", fd.Name())) // it may be closed by now
		if inode, ok := strings.CutPrefix(to, "socket:["); ok {
			out[strings.TrimSuffix(inode, "]")] = true
		}
	}
	return out
}

// listening gives the loopback addresses at which a process can be reached.
func listening(pid int) ([]string, error) {
	sockets := socketsOf(proc(pid))
	if sockets == nil {
		return nil, errors.New("its sockets cannot be read: it has ended, or is another user's")
	}
	var out []string
	for _, l := range listeners(proc(pid, "net")) {
		if sockets[l.inode] {
			out = append(out, fmt.Sprintf("127.0.0.1:%d", l.port))
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
	its := slices.DeleteFunc(listeners("/proc/net"), func(l listener) bool { return l.port != port })
	processes, _ := filepath.Glob("/proc/[0-9]*") // a pattern that is one
	var out []string
	for _, folder := range processes {
		sockets := socketsOf(folder)
		if pid, err := strconv.Atoi(filepath.Base(folder)); err == nil && slices.ContainsFunc(its, func(l listener) bool { return sockets[l.inode] }) {
			if target, ok := profileable(ctx, pid, port); ok {
				out = append(out, target)
				for _, worker := range Workers(pid) {
					out = append(out, strconv.Itoa(worker))
				}
			}
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
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
	n, err := strconv.Atoi(cmp.Or(u.Port(), map[string]string{"http": "80", "h2c": "80", "https": "443"}[u.Scheme]))
	if err != nil {
		return 0, whittle.Errorf(whittle.Invalid, "find the process at %s: no port", at)
	}
	return n, nil
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
