package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
)

// process is a server of the system that a scene is about.
type process struct {
	cmd  *exec.Cmd
	addr string
}

var listening = regexp.MustCompile(`^listening public=(\S+)`)

// start runs a server that says where it listens.
func start(ctx context.Context, env []string, command ...string) (*process, error) {
	p := &process{cmd: exec.CommandContext(ctx, command[0], command[1:]...)}
	p.cmd.Env = append(os.Environ(), env...)
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
		p.end()
		return nil, fmt.Errorf("start %s: it said %q in place of where it listens (%w)", command[0], line, err)
	}
	p.addr = found[1]
	return p, nil
}

// end does not wait for what the server has under way: the overloaded
// application would work on for half a minute, for nobody.
func (p *process) end() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait() // how it ends is no part of the story
}

func node(ctx context.Context, s settings, room string, env ...string) (*process, error) {
	folder := filepath.Join(s.root, "systems/count", room)
	if _, err := os.Stat(filepath.Join(folder, "node_modules/express")); err != nil {
		return nil, fmt.Errorf("the npm packages of %s are missing: run make deps", folder)
	}
	return start(ctx, env, "node", filepath.Join(folder, "server.js"), "--port", "0", "--host", "127.0.0.1")
}

func startMonolith(ctx context.Context, s settings) ([]*process, string, error) {
	p, err := node(ctx, s, "monolith")
	if err != nil {
		return nil, "", err
	}
	return []*process{p}, "http://" + p.addr, nil
}

func startService(ctx context.Context, s settings) ([]*process, string, error) {
	p, err := start(ctx, nil, s.service, "-listen", "127.0.0.1:0", "-admin", "127.0.0.1:0", "-env-file", "", "-log-level", "warn")
	if err != nil {
		return nil, "", err
	}
	return []*process{p}, "http://" + p.addr, nil
}

// startCarved starts the application whose count is the service's.
func startCarved(ctx context.Context, s settings) ([]*process, string, error) {
	system, url, err := startService(ctx, s)
	if err != nil {
		return nil, "", err
	}
	p, err := node(ctx, s, "carved", "COUNT_URL="+url+"/")
	if err != nil {
		return system, "", err
	}
	return append(system, p), "http://" + p.addr, nil
}
