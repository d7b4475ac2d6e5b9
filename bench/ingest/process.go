package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"whittle/bench/cputime"
)

// process is a server that was started here.
type process struct {
	cmd  *exec.Cmd
	addr string
}

var listening = regexp.MustCompile(`^listening public=(\S+)`)

// start runs a server that says where it listens. env is added to ours.
func start(ctx context.Context, env []string, command ...string) (*process, error) {
	p := &process{cmd: exec.CommandContext(ctx, command[0], command[1:]...)}
	p.cmd.Stderr, p.cmd.Env = os.Stderr, append(os.Environ(), env...)
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", command[0], err)
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", command[0], err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	found := listening.FindStringSubmatch(line)
	if found == nil {
		p.stop()
		return nil, fmt.Errorf("start %s: it said %q in place of where it listens (%w)", command[0], line, err)
	}
	p.addr = found[1]
	return p, nil
}

// startAt runs a server that was told where to listen, and waits until it does.
func startAt(ctx context.Context, addr, log string, command ...string) (*process, error) {
	p := &process{cmd: exec.CommandContext(ctx, command[0], command[1:]...), addr: addr}
	said, err := os.Create(log)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", command[0], err)
	}
	defer said.Close()
	p.cmd.Stdout, p.cmd.Stderr = said, said
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", command[0], err)
	}
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		var d net.Dialer
		c, err := d.DialContext(ctx, "tcp", addr)
		if err == nil {
			_ = c.Close() // it was only asked whether somebody is there
			return p, nil
		}
		if time.Now().After(deadline) || ctx.Err() != nil {
			p.stop()
			text, _ := os.ReadFile(log)
			return nil, fmt.Errorf("start %s: no answer: %w\n%s", command[0], err, text)
		}
	}
}

// stop ends the process gently, and after 10 s at once.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	late := time.AfterFunc(10*time.Second, func() { _ = p.cmd.Process.Kill() })
	defer late.Stop()
	_ = p.cmd.Wait() // how it ends is no part of the measurement
}

// cpu is what the process and its children have spent so far.
func (p *process) cpu() (sum time.Duration, err error) {
	for _, pid := range family(p.cmd.Process.Pid) {
		d, err := cputime.Of(pid)
		if err != nil {
			return 0, err
		}
		sum += d
	}
	return sum, nil
}

// rss is the resident memory of the process and its children, in bytes.
func (p *process) rss() (sum float64, ok bool) {
	for _, pid := range family(p.cmd.Process.Pid) {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
		if err != nil {
			return 0, false
		}
		one, ok := rssIn(string(text))
		if !ok {
			return 0, false
		}
		sum += one
	}
	return sum, true
}

func rssIn(status string) (float64, bool) {
	_, rest, ok := strings.Cut(status, "\nVmRSS:")
	line, _, _ := strings.Cut(rest, "\n")
	kib, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(line), " kB"), 64)
	return kib * 1024, ok && err == nil
}

// family gives a process and all that descend from it.
func family(root int) []int {
	all := []int{root}
	for i := 0; i < len(all); i++ {
		files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", all[i]))
		if err != nil {
			continue
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				continue // the thread has ended in between
			}
			for field := range strings.FieldsSeq(string(text)) {
				if pid, err := strconv.Atoi(field); err == nil {
					all = append(all, pid)
				}
			}
		}
	}
	return all
}

// freeAddr gives a loopback address that was free a moment ago, for a server
// that cannot say which port it took.
func freeAddr(ctx context.Context) (string, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// self is this binary, which also plays parts.
func self() string {
	if path, err := os.Executable(); err == nil {
		return path
	}
	return os.Args[0]
}
