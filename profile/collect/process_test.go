//go:build linux

package collect

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"whittle"
	"whittle/e2e/process"
	"whittle/internal/fatal"
	"whittle/internal/needs"
	"whittle/profile"
	"whittle/whittletest"
)

// cluster starts one of two workers.
func cluster(t *testing.T) (pid int, base string, workers []int) {
	t.Helper()
	pid, base = nodeOf(t, "testdata/cluster.js")
	process.Until(t, "it has two workers", func() bool { workers = Workers(pid); return len(workers) >= 2 })
	if len(workers) != 2 {
		t.Fatalf("workers %v", workers)
	}
	return pid, base, workers
}

// The workers of a cluster are all attached at once, each on a port of its own, and leave none
// open. So are they with their first process, which hands the signal that opens its own on.
func TestEveryWorkerOfACluster(t *testing.T) {
	pid, base, workers := cluster(t)
	busy(t, request("GET", base+"/sum"))
	for _, first := range []bool{false, true} {
		var targets []string
		before, spent := map[string][]string{}, int64(0)
		if first {
			workers = append([]int{pid}, workers...) // the order that WorkersFirst mends
		}
		for _, of := range workers {
			targets = append(targets, strconv.Itoa(of))
			before[strconv.Itoa(of)] = listens(t, of)
		}
		targets = WorkersFirst(targets)
		var all []Source
		for _, target := range targets {
			s, err := OpenAmong(t.Context(), target)
			fatal.If(t, err)
			all = append(all, s)
		}
		for n, s := range all {
			if !first {
				p, err := s.Take(t.Context(), profile.CPU, window())
				fatal.If(t, err)
				for _, e := range p.ByEndpoint() {
					if e.Endpoint == "GET /sum" {
						spent += e.Value
					}
				}
			}
			fatal.If(t, s.Close(t.Context()))
			of, _ := strconv.Atoi(targets[n])
			untilListening(t, of, before[targets[n]])
		}
		if spent == 0 && !first {
			t.Error("no worker was seen at work")
		}
	}
}

// A worker that waits in Atomics.wait, as those of idle pools do, is profiled, its functions
// by their names. One that stands still otherwise does not respond, and the session with
// its process goes on: Node
// 18 and 20 end where they respond on a connection that was closed.
func TestAWorkerThatStandsStill(t *testing.T) {
	pid := script(t, `const { Worker } = require('worker_threads');
new Worker("require('worker_threads').parentPort.postMessage(0); Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)", { eval: true }).once('message', () => console.log());
setInterval(() => {}, 1000)`)
	i := opens(t, pid)
	i.attach(t.Context())
	for _, lines := range []profile.Lines{profile.Cheap, ""} {
		i.lines = lines
		_, err := i.startCPU(t.Context(), time.Minute, false)
		fatal.If(t, err)
		for _, w := range i.workers {
			if !w.began || w.forgot != (lines == "") {
				t.Errorf("lines %q: that its profile began is %t, and that its optimized code is forgotten %t", lines, w.began, w.forgot)
			}
		}
		_, err = i.stop(t.Context())
		fatal.If(t, err)
	}
	for _, w := range i.workers {
		if err := i.callWorker(t.Context(), w, "Runtime.noSuchMethod", nil, nil); err == nil {
			t.Error("a worker's error is taken for a success")
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	for _, w := range i.workers {
		_ = i.callWorker(ctx, w, "Runtime.evaluate", map[string]any{"expression": "for (;;);"}, nil)
	}
	if err := i.call(t.Context(), "Runtime.getIsolateId", nil, nil); len(i.workers) == 0 || err != nil {
		t.Errorf("of %d workers: %v", len(i.workers), err)
	}
	i.detach(t.Context())
	fatal.If(t, i.Close(t.Context()))
}

// What keeps an inspector from opening is named.
func TestWhyAProcessCannotBeAttached(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 700*time.Millisecond)
	defer cancel()
	own := script(t, `process.on('SIGUSR1', () => {}); setInterval(() => {}, 1000); console.log()`)
	_, err := Open(ctx, strconv.Itoa(own))
	whittletest.Refused(t, err, whittle.Unavailable, "one with a handler", "handles SIGUSR1 itself")
	stopped := script(t, `setInterval(() => {}, 1000); console.log()`)
	fatal.If(t, syscall.Kill(stopped, syscall.SIGSTOP))
	process.Until(t, "it is stopped", func() bool { return isStopped(stopped) })
	ctx, cancel = context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if _, err := Open(ctx, strconv.Itoa(stopped)); err == nil || !strings.Contains(err.Error(), "it is stopped") {
		t.Errorf("one that is stopped: %v", err)
	}
	// It would open an inspector as it goes on, which nobody would close.
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(stopped), "status"))
	if err != nil || !regexp.MustCompile(`(?m)^ShdPnd:\s+0+$`).Match(status) {
		t.Errorf("a signal waits for one that is stopped: %v\n%s", err, status)
	}
}

// One that ends in the middle of its profile is said to have.
func TestAProcessThatEndsMeanwhile(t *testing.T) {
	pid := script(t, `setInterval(() => {}, 1000); console.log()`)
	s := attached(t, pid)
	killed := time.AfterFunc(300*time.Millisecond, func() { syscall.Kill(pid, syscall.SIGKILL) })
	defer killed.Stop()
	if _, err := s.Take(t.Context(), profile.CPU, time.Second); err == nil || !strings.Contains(err.Error(), "ended meanwhile") {
		t.Errorf("%v", err)
	}
}

// One that is stopped while it is attached is said to be, is asked nothing, and nobody waits
// for it.
func TestAProcessThatIsStoppedMeanwhile(t *testing.T) {
	pid := script(t, `setInterval(() => {}, 1000); console.log()`)
	s := opens(t, pid)
	fatal.If(t, syscall.Kill(pid, syscall.SIGSTOP))
	process.Until(t, "it is stopped", func() bool { return isStopped(pid) })
	if _, err := s.Take(t.Context(), profile.CPU, time.Second); err == nil || !strings.Contains(err.Error(), "was stopped meanwhile") {
		t.Errorf("%v", err)
	}
	if err := s.Close(t.Context()); err == nil || !strings.Contains(err.Error(), "closes it when it goes on") {
		t.Errorf("%v", err)
	}
}

// What is no Node process, or one that SIGUSR1 might end, is said to be, and gets no signal.
func TestWhatIsNotSignalled(t *testing.T) {
	shell := fatal.Read(t, "/bin/sh")
	folder := t.TempDir()
	for _, c := range []struct{ name, argument, env, want, hint string }{
		{"deno", "", "", "it is Deno's", "--inspect=127.0.0.1:9229"},
		{"bun", "", "", "it is Bun's", "--cpu-prof"},
		{"java", "", "", "java is not Node", "other runtimes"},
		{"node", "--disable-sigusr1", "", "started with --disable-sigusr1", "--inspect"},
		{"node", "", "NODE_OPTIONS=--enable-source-maps --disable-sigusr1", "started with --disable-sigusr1", "--inspect"},
		{"node", "", "OPTIONS=--disable-sigusr1", "still starting", "try again"},
	} {
		path := filepath.Join(folder, c.name)
		fatal.If(t, os.WriteFile(path, []byte(shell), 0o700))
		cmd := exec.Command(path, "-c", "read line", c.argument)
		cmd.Env = []string{c.env}
		in, err := cmd.StdinPipe()
		fatal.If(t, err)
		fatal.If(t, cmd.Start())
		for began := time.Now(); time.Since(began) < 10*time.Second; { // the kernel writes it a moment after the exec
			if line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(cmd.Process.Pid), "cmdline")); err != nil || len(line) > 0 {
				break
			}
			runtime.Gosched()
		}
		err = checkNode(cmd.Process.Pid)
		in.Close()
		cmd.Wait()
		if coded, ok := errors.AsType[*whittle.Error](err); !ok || !strings.Contains(err.Error(), c.want) || !strings.Contains(coded.Hint, c.hint) {
			t.Errorf("%s %s %s: %v", c.name, c.argument, c.env, err)
		}
		fatal.If(t, os.Remove(path))
	}
	whittletest.Refused(t, checkNode(1<<30), whittle.NotFound, "", "there is none")
}

// The inspector of a process in a network of its own is not opened.
func TestAProcessInAnotherNetwork(t *testing.T) {
	folder := t.TempDir()
	fatal.If(t, os.Mkdir(filepath.Join(folder, "ns"), 0o700))
	own, err := os.Readlink("/proc/self/ns/net")
	fatal.If(t, err)
	for to, refused := range map[string]bool{own: false, "net:[1]": true} {
		fatal.If(t, os.Symlink(to, filepath.Join(folder, "ns", "net")))
		if err := reachable(17, folder); (err != nil) != refused || refused && !strings.Contains(err.Error(), "network of its own") {
			t.Errorf("%s: %v", to, err)
		}
		fatal.If(t, os.Remove(filepath.Join(folder, "ns", "net")))
	}
}

// Who leaves while the inspector opens, or as soon as it is open, leaves it closed: also of
// a process that is idle, and so has not come to connect to whittle.
func TestALeaveAtOnceClosesTheInspector(t *testing.T) {
	pid, _ := node(t)
	before := listens(t, pid)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if s, err := Open(gone, strconv.Itoa(pid)); !errors.Is(err, context.Canceled) {
		t.Errorf("opened for nobody: %v, %v", s, err)
	}
	untilListening(t, pid, before)
	for range 3 {
		fatal.If(t, opens(t, pid).Close(t.Context()))
		untilListening(t, pid, before)
	}
}

// Turns of 25 ms of CPU keep the event loop for no 50, also where the process shares its
// core with three others, and each turn takes four times as long.
func TestABusyNeighbourBlocksNoEventLoop(t *testing.T) {
	var allowed, core unix.CPUSet
	fatal.If(t, unix.SchedGetaffinity(0, &allowed))
	for n := 0; core.Count() == 0; n++ {
		if allowed.IsSet(n) {
			core.Set(n)
		}
	}
	pid := script(t, `setInterval(function turn() {
		const began = process.cpuUsage();
		let used;
		do { used = process.cpuUsage(began); } while (used.user + used.system < 25e3);
	}, 150); console.log()`)
	pids := []int{pid}
	for range 3 {
		neighbour := exec.CommandContext(t.Context(), needs.Node(t), "-e", "for (;;);")
		fatal.If(t, neighbour.Start())
		defer neighbour.Wait()
		defer neighbour.Process.Kill()
		pids = append(pids, neighbour.Process.Pid)
	}
	s := attached(t, pid)
	for _, pid := range pids {
		fatal.If(t, unix.SchedSetaffinity(pid, &core))
	}
	long := 3 * time.Second
	if testing.Short() {
		long /= 2
	}
	p, err := s.Take(t.Context(), profile.CPU, long)
	fatal.If(t, err)
	if len(p.MainClock) == 0 {
		t.Fatal("the process's clock was not read")
	}
	for _, b := range p.Blocked() {
		if b.Sure {
			t.Errorf("named: %+v, in %s", b, p.Functions[b.Root].Name)
		}
	}
}

// Work in slices lets the event loop go between them, and blocks it not, however long all
// of it is.
func TestSlicesBlockNoEventLoop(t *testing.T) {
	pid := script(t, `(function slice() {
		const began = process.cpuUsage();
		let used;
		do { used = process.cpuUsage(began); } while (used.user + used.system < 5e3);
		setImmediate(slice);
	})(); console.log()`)
	s := attached(t, pid)
	p, err := s.Take(t.Context(), profile.CPU, time.Second)
	fatal.If(t, err)
	if b := p.Blocked(); len(b) != 0 {
		t.Errorf("named: %+v, in %s", b, p.Functions[b[0].Root].Name)
	}
}

// A connection outlives this process's end of it, until the process has been gone for a
// moment, or says that it may end.
func TestAConnectionOutlivesItsProcess(t *testing.T) {
	for name, end := range map[string]func(*linger){
		"ended": (*linger).end,
		"killed": func(l *linger) { // what a kill does
			l.own.Close()
			t.Cleanup(l.end)
		},
	} {
		t.Run(name, func(t *testing.T) {
			line, err := net.Listen("tcp", "127.0.0.1:0")
			fatal.If(t, err)
			defer line.Close()
			conn, err := net.Dial("tcp", line.Addr().String())
			fatal.If(t, err)
			peer, err := line.Accept()
			fatal.If(t, err)
			defer peer.Close()
			l := keepOpen(conn.(*net.TCPConn), line.(*net.TCPListener))
			if l == nil {
				t.Fatal("no shell")
			}
			conn.Close()
			fatal.If(t, peer.SetReadDeadline(time.Now().Add(20*time.Millisecond)))
			if _, err := peer.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("the connection ended with its process: %v", err)
			}
			fatal.If(t, peer.SetReadDeadline(time.Time{}))
			end(l)
			if _, err := peer.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
				t.Errorf("it is still open: %v", err)
			}
		})
	}
}

// A profile that somebody saved may name anything as the script of a function: what is no
// file is not opened.
func TestAScriptThatIsAPipeIsNotOpened(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "server.js")
	fatal.If(t, syscall.Mkfifo(pipe, 0o600))
	done := make(chan struct{})
	var looks sync.WaitGroup
	looks.Go(func() { // it can be opened for writing only while somebody reads
		for {
			if w, err := os.OpenFile(pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
				t.Error("it was opened")
				w.Close()
				return
			}
			select {
			case <-done:
				return
			default:
			}
		}
	})
	if lines := newRoutes().lines(pipe); lines != nil {
		t.Errorf("it has lines: %q", lines)
	}
	close(done)
	looks.Wait()
}
