package collect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"whittle"
	"whittle/bench/cputime"
	"whittle/profile"
	"whittle/profile/foreign"
)

// pythonProcess is a Python process, which py-spy looks into from outside: nothing of
// it is changed or stopped for longer than a look.
type pythonProcess struct {
	pid        int
	tool, name string
}

// pythonProgram is the base name of a Python interpreter.
var pythonProgram = regexp.MustCompile(`^(python|pypy)[\d.]*$`)

// installPySpy says how py-spy comes onto a machine.
const installPySpy = "install it: pip install py-spy"

// openPython opens a Python process; ok says that it is one.
func openPython(pid int) (s Source, ok bool, err error) {
	if !pythonProgram.MatchString(programOf(pid)) { // where it cannot be read, openPID says so
		return nil, false, nil
	}
	tool, err := exec.LookPath("py-spy")
	if err != nil {
		return nil, true, whittle.Errorf(whittle.Unavailable, "profile process %d: it is Python's, which is profiled by py-spy, and that is not here", pid).
			WithHint(installPySpy)
	}
	p := &pythonProcess{pid: pid, tool: tool, name: "python"}
	for _, arg := range argumentsOf(pid)[1:] {
		if arg != "" && arg[0] != '-' {
			p.name = arg
			break
		}
	}
	return p, true, nil
}

func (p *pythonProcess) Kinds() []profile.Kind { return []profile.Kind{profile.CPU} }

func (p *pythonProcess) Address() string { return strconv.Itoa(p.pid) }

func (p *pythonProcess) Close(context.Context) error { return nil }

// pySpyRate is how often a second py-spy looks, as often as Go's profiler does.
const pySpyRate = 100

// Take has py-spy look for whole seconds, or until ctx ends.
func (p *pythonProcess) Take(ctx context.Context, kind profile.Kind, d time.Duration) (*Collected, error) {
	if kind != profile.CPU {
		return nil, whittle.Errorf(whittle.Unsupported, "take profile: py-spy has no %q", kind)
	}
	folder, err := os.MkdirTemp("", "whittle-py-spy-")
	if err != nil {
		return nil, whittle.Errorf(whittle.Unavailable, "take profile of process %d: %w", p.pid, err)
	}
	defer func() { _ = os.RemoveAll(folder) }() // the system's folder for what is thrown away
	file := filepath.Join(folder, "stacks.txt")
	seconds := max(int64(d.Round(time.Second)/time.Second), 1)
	before, beforeErr := cputime.Of(p.pid)
	clocks := threadClocks(p.pid)
	began := time.Now()
	// It ends by itself, and on an interrupt writes what it has.
	cmd := exec.CommandContext(ctx, p.tool, "record", "--pid", strconv.Itoa(p.pid), "--duration", strconv.FormatInt(seconds, 10),
		"--rate", strconv.Itoa(pySpyRate), "--format", "raw", "--full-filenames", "--threads", "--output", file)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = responseTimeout
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	err = cmd.Run()
	lasted := time.Since(began)
	raw, readErr := readBounded(file)
	if readErr != nil {
		return nil, p.failed(errors.Join(err, readErr), said.String())
	}
	raw = foreign.OnCPU(raw, usedSince(clocks, threadClocks(p.pid)))
	if len(raw) == 0 {
		return nil, whittle.Errorf(whittle.FailedPrecondition, "take profile of process %d: it did nothing", p.pid).
			WithHint(p.idleHint())
	}
	t := &Collected{Raw: raw, Ext: ".collapsed.txt"}
	if t.Profile, err = foreign.Read(raw, kind); err != nil {
		return nil, fmt.Errorf("take profile of process %d: %w", p.pid, err)
	}
	t.Began, t.Duration, t.Estimated, t.Service = began, lasted, false, p.name
	if after, err := cputime.Of(p.pid); err == nil && beforeErr == nil {
		t.CapTotal(after - before)
	}
	return t, nil
}

// idleHint says what to do about a process that did nothing: where it has others, as
// gunicorn's first process, they do the work.
func (p *pythonProcess) idleHint() string {
	if all := pythonChildren(p.pid); len(all) > 0 {
		return fmt.Sprintf("its own processes do the work: profile one of them (%s)", strings.Trim(fmt.Sprint(all), "[]"))
	}
	return "put load on it, or profile longer"
}

// pythonChildren are the Python processes that a Python process started.
func pythonChildren(pid int) (out []int) {
	for _, child := range children(pid) {
		if pythonProgram.MatchString(programOf(child)) && !strings.Contains(strings.Join(argumentsOf(child), " "), "resource_tracker") {
			out = append(out, child)
		}
	}
	return out
}

// threadClocks are what each thread of a process has used, by its id.
func threadClocks(pid int) map[int]time.Duration {
	tasks, _ := os.ReadDir(proc(pid, "task")) // none: no clock is known
	out := map[int]time.Duration{}
	for _, task := range tasks {
		id, err := strconv.Atoi(task.Name())
		text, _ := os.ReadFile(proc(pid, "task", task.Name(), "schedstat"))
		if used, ok := onProcessor(text); ok && err == nil {
			out[id] = used
		}
	}
	return out
}

// usedSince is what the threads used between two readings.
func usedSince(before, after map[int]time.Duration) map[int]time.Duration {
	out := map[int]time.Duration{}
	for id, used := range after {
		out[id] = used - before[id]
	}
	return out
}

// failed says what py-spy said, and what helps.
func (p *pythonProcess) failed(err error, said string) error {
	said = strings.TrimSpace(said)
	e := whittle.Errorf(whittle.Unavailable, "take profile of process %d: py-spy: %w: %s", p.pid, err, firstLine([]byte(said)))
	if strings.Contains(said, "ermission") {
		return e.WithHint("run whittle as the process's user with the right to trace it: sudo, or CAP_SYS_PTRACE in a container")
	}
	return e.WithHint("try py-spy by itself: py-spy dump --pid " + strconv.Itoa(p.pid))
}

func readBounded(file string) ([]byte, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxMessage {
		return nil, fmt.Errorf("it wrote %d MiB, of which at most %d are read: profile for a shorter time", info.Size()>>20, maxMessage>>20)
	}
	return os.ReadFile(file)
}
