package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
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

// start runs a server that says where it listens.
func start(ctx context.Context, command ...string) (*process, error) {
	p := &process{cmd: exec.CommandContext(ctx, command[0], command[1:]...)}
	p.cmd.Stderr = os.Stderr
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

// startAt runs a server that was told where to listen, and waits until it
// answers.
func startAt(ctx context.Context, s settings, addr, log string, command ...string) (*process, error) {
	p := &process{cmd: exec.CommandContext(ctx, command[0], command[1:]...), addr: addr}
	p.cmd.Env = append(os.Environ(), "GOMAXPROCS="+strconv.Itoa(s.workers), // for Caddy, and that it keeps to our folder
		"XDG_CONFIG_HOME="+s.folder, "XDG_DATA_HOME="+s.folder)
	said, err := os.Create(log)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", command[0], err)
	}
	defer said.Close()
	p.cmd.Stdout, p.cmd.Stderr = said, said
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", command[0], err)
	}
	client := http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		resp, err := get(ctx, &client, "http://"+addr+"/")
		if err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return p, nil
			}
			err = errors.New(resp.Status)
		}
		if time.Now().After(deadline) || ctx.Err() != nil {
			p.stop()
			text, _ := os.ReadFile(log)
			return nil, fmt.Errorf("start %s: no answer: %w\n%s", command[0], err, text)
		}
	}
}

func get(ctx context.Context, c *http.Client, url string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	return c.Do(req)
}

// stop ends the process gently, and after 10 s at once.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	late := time.AfterFunc(10*time.Second, func() { _ = p.cmd.Process.Kill() })
	defer late.Stop()
	_ = p.cmd.Wait() // how it ends is no part of the measurement
}

// cpu is what the process and its children have spent so far.
func (p *process) cpu() (time.Duration, error) {
	pids, err := family(p.cmd.Process.Pid)
	if err != nil {
		return 0, err
	}
	var sum time.Duration
	for _, pid := range pids {
		d, err := cputime.Of(pid)
		if err != nil {
			return 0, err
		}
		sum += d
	}
	return sum, nil
}

// family gives a process and all that descend from it.
func family(root int) ([]int, error) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	children := map[int][]int{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended in between
		}
		var pid, parent int
		var state string
		head, tail, _ := strings.Cut(string(text), " ")
		tail = tail[strings.LastIndexByte(tail, ')')+1:] // a name may hold anything
		if _, err := fmt.Sscan(head, &pid); err != nil {
			continue
		}
		if _, err := fmt.Sscan(tail, &state, &parent); err == nil {
			children[parent] = append(children[parent], pid)
		}
	}
	all := []int{root}
	for i := 0; i < len(all); i++ {
		all = append(all, children[all[i]]...)
	}
	return all, nil
}

// freeAddr gives a loopback address that was free a moment ago, for servers
// that cannot say which port they took.
func freeAddr(ctx context.Context) (string, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().String(), nil
}
