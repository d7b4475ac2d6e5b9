package client

import (
	"bufio"
	"bytes"
	"context"
	_ "embed" // the program
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	"whittle/bench/soak/plan"
)

//go:embed node.mjs
var nodeProgram []byte

// Node is a process of Node's that many users share, with Node's own clients of
// HTTP/1.1 or HTTP/2.
type Node struct {
	cmd *exec.Cmd

	sending sync.Mutex // guards in, and is held while a request is written
	in      io.WriteCloser

	mu      sync.Mutex // guards the following; nobody waits for the process with it
	waiting map[uint64]chan nodeResponse
	ended   error
}

type nodeRequest struct {
	ID      uint64            `json:"id"`
	Method  string            `json:"method"`
	Path    string            `json:"path"`
	Headers map[string]string `json:"headers"`
	Body    []byte            `json:"body"`
}

type nodeResponse struct {
	ID       uint64   `json:"id"`
	Status   int      `json:"status"`
	Fields   []string `json:"fields"`
	Trailers []string `json:"trailers"`
	Body     []byte   `json:"body"`
	Error    string   `json:"error"`
	Heard    bool     `json:"heard"`
}

// StartNode starts it, with its program in a folder. The URL is scheme and address, the
// version 1 or 2, ca a file or empty.
func StartNode(dir, url, version, ca string) (*Node, error) {
	program := filepath.Join(dir, "node.mjs")
	if err := os.WriteFile(program, nodeProgram, 0o600); err != nil {
		return nil, err
	}
	n := &Node{cmd: exec.Command("node", program, url, version, ca), waiting: map[uint64]chan nodeResponse{}} //nolint:gosec,noctx // a program of our own; Stop ends it
	var err error
	if n.in, err = n.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := n.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := n.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start node: %w", err)
	}
	go n.read(out)
	return n, nil
}

// read gives each response to whoever waits for it, until the process ends.
func (n *Node) read(out io.Reader) {
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		var a nodeResponse
		if err == nil {
			err = json.Unmarshal(line, &a)
		}
		n.mu.Lock()
		if err != nil {
			n.ended = err
			for _, w := range n.waiting {
				close(w)
			}
			n.waiting = nil
			n.mu.Unlock()
			return
		}
		w := n.waiting[a.ID]
		delete(n.waiting, a.ID)
		n.mu.Unlock()
		if w != nil {
			w <- a // it has room for one
		}
	}
}

// Stop ends it.
func (n *Node) Stop() {
	_ = n.in.Close()
	_ = n.cmd.Wait() // it has nothing more to say
}

// User is one of those who share it.
func (n *Node) User(name string) User { return &nodeUser{n: n, name: name} }

type nodeUser struct {
	n    *Node
	name string
	last Tape
}

func (u *nodeUser) Close()     {}
func (u *nodeUser) Tape() Tape { return u.last }

func (u *nodeUser) Ask(ctx context.Context, plans []*plan.Plan) []Outcome {
	return oneByOne(ctx, plans, u.ask)
}

func (u *nodeUser) ask(ctx context.Context, p *plan.Plan) Outcome {
	body := p.Request()
	q := nodeRequest{p.Number, p.Method(), p.Path(), map[string]string{}, body.Bytes()}
	for _, f := range headers(p, u.name) {
		q.Headers[f[0]] = f[1]
	}
	if p.Way == plan.Post {
		q.Headers["Content-Length"] = fmt.Sprint(p.Upload)
	}
	line, err := json.Marshal(&q)
	if err != nil {
		return unsent(err)
	}
	u.last = Tape{Sent: string(line[:min(len(line), taped)]), SentBytes: int64(len(line))}
	w := make(chan nodeResponse, 1)
	u.n.mu.Lock()
	if err = u.n.ended; err == nil {
		u.n.waiting[p.Number] = w
	}
	u.n.mu.Unlock()
	if err == nil {
		u.n.sending.Lock()
		_, err = u.n.in.Write(append(line, '\n'))
		u.n.sending.Unlock()
	}
	if err != nil {
		return unsent(err)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case a, ok := <-w:
		if !ok {
			return unsent(errors.New("node has ended"))
		}
		return u.outcome(p, &a)
	case <-ctx.Done():
		return unsent(ctx.Err())
	}
}

func (u *nodeUser) outcome(p *plan.Plan, a *nodeResponse) Outcome {
	u.last.Received, u.last.ReceivedBytes = fmt.Sprintf("%d %q %q %s", a.Status, a.Fields, a.Trailers, a.Error), int64(len(a.Body))
	if a.Error != "" {
		return Outcome{Broken, a.Error, !a.Heard}
	}
	trailer := fields(a.Trailers)
	return check(p, &response{a.Status, fields(a.Fields), -1, bytes.NewReader(a.Body), &trailer})
}

// fields makes a header of names and values in turn.
func fields(pairs []string) http.Header {
	h := http.Header{}
	for i := 0; i+1 < len(pairs); i += 2 {
		h.Add(pairs[i], pairs[i+1])
	}
	return h
}
