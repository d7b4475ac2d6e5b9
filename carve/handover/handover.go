// Package handover lets a gateway be replaced by another process while users are served. Both
// accept from the same listening sockets, so no connection is refused. The new process starts
// and reads its config; then the old one saves its state and stops deciding, and the new one
// reads the state and serves. The old one finishes its requests under the shares that the new
// one decides, compares none of them, and at last reports how many they were. If anything fails
// before the new process serves, the old one goes on as it was.
package handover

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"time"

	"whittle"
	"whittle/internal/notify"
)

// startTime is how long a new process may take until it serves.
const startTime = time.Minute

// message is what the two processes say to each other over one connection.
type message struct {
	// Step is a step of the takeover; empty: it is over.
	Step step `json:"step,omitempty"`
	// At is where a route is by the new process's decision. Nil: nothing new.
	At    *whittle.Position `json:"at,omitempty"`
	Route string            `json:"route,omitempty"`
	// End asks the old process to end soon.
	End bool `json:"end,omitempty"`
	// Last is the old process's last word: how many requests of each route are not in the
	// state that it has saved.
	Last map[string]int64 `json:"last,omitempty"`
}

type step string

// The steps of a takeover, in their order.
const (
	asks   step = "asks"   // the new process has all but the state
	leaves step = "leaves" // the old one has saved it and let go of it
	serves step = "serves" // the new one accepts connections
	left   step = "left"   // and the old one none any more
)

// link is one end of the connection.
type link struct {
	conn net.Conn
	in   *json.Decoder
}

func linkOf(c net.Conn) link { return link{c, json.NewDecoder(c)} }

func (l link) say(m message) error { return json.NewEncoder(l.conn).Encode(m) }

// await waits for a step.
func (l link) await(s step) error {
	var m message
	if err := l.in.Decode(&m); err != nil {
		return err
	}
	if m.Step != s {
		return fmt.Errorf("the other process says %q, and not %q", m.Step, s)
	}
	return nil
}

// Hooks are what the process that is replaced does. No two are called at a time.
type Hooks struct {
	// Release saves the state and lets go of what one process at a time may have. On an error
	// nothing has changed.
	Release func() error
	// Resume undoes Release.
	Resume func()
	// Leave is called once the successor serves.
	Leave func(s *Successor)
	// Apply puts in force what the successor has decided for a route.
	Apply func(route string, p whittle.Position)
	// End is called when the successor ends too: what is under way is to end soon.
	End func()
	// Lost is called when the successor is gone before this process.
	Lost func()
}

// Successor is the process that has taken over, as the one that was replaced sees it.
type Successor struct {
	link
	over chan struct{} // closed once nothing comes of it any more
}

// Replace starts a command that is to take over, and returns once it serves. On an error it
// has ended, and everything is as before. Environment and files of the command may have more
// in them.
func Replace(cmd *exec.Cmd, h Hooks) error {
	conn, err := pair(cmd)
	if err == nil {
		if err = cmd.Start(); err != nil {
			err = fmt.Errorf("start the new process: %w", errors.Join(err, conn.Close()))
		}
	}
	for _, f := range cmd.ExtraFiles {
		_ = f.Close() // the process has its own, if there is one
	}
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // it outlives this process, which does not wait for it
	s := &Successor{linkOf(conn), make(chan struct{})}
	released, err := s.handOver(h)
	if err == nil {
		go s.follow(h)
		return nil
	}
	_ = conn.Close()
	t := time.AfterFunc(time.Second, func() { _ = cmd.Process.Kill() }) // one that ends by itself says why
	err = fmt.Errorf("the new process did not serve: %w", errors.Join(<-ended, err))
	t.Stop()
	if released {
		h.Resume() // what it had taken is free
	}
	return err
}

// handOver takes the old process's steps.
func (s *Successor) handOver(h Hooks) (released bool, err error) {
	if err := s.conn.SetDeadline(time.Now().Add(startTime)); err != nil {
		return false, err
	}
	if err := s.await(asks); err != nil {
		return false, err
	}
	if err := h.Release(); err != nil {
		return false, err
	}
	if err := s.say(message{Step: leaves}); err != nil {
		return true, err
	}
	if err := s.await(serves); err != nil {
		return true, err
	}
	_ = s.conn.SetDeadline(time.Time{}) // it could be set before
	h.Leave(s)
	_ = s.say(message{Step: left}) // it may have ended: follow will see
	return true, nil
}

// follow puts in force what the new process decides, until this process has said its last word.
func (s *Successor) follow(h Hooks) {
	defer close(s.over)
	for {
		var m message
		if err := s.in.Decode(&m); err != nil {
			if !errors.Is(err, net.ErrClosed) {
				h.Lost()
			}
			return
		}
		if m.At != nil {
			h.Apply(m.Route, *m.At)
		}
		if m.End {
			h.End()
		}
	}
}

// Finish says the last word: how many requests of each route are not in the state that this
// process has saved.
func (s *Successor) Finish(last map[string]int64) {
	_ = s.conn.SetWriteDeadline(time.Now().Add(time.Second)) // one that hangs does not hold up the end
	_ = s.say(message{Last: last})                           // it may be gone
	_ = s.conn.Close()
	<-s.over
}

// Predecessor is the process that this one is to replace.
type Predecessor struct {
	link
	orders orders
	gone   chan struct{} // closed once it has ended
}

// Join finds the process that has started this one to be replaced by it; nil: there is
// none.
func Join() (*Predecessor, error) {
	conn, err := inherited()
	if conn == nil || err != nil {
		return nil, err
	}
	return &Predecessor{link: linkOf(conn), orders: orders{wake: notify.New(), positions: map[string]whittle.Position{}}, gone: make(chan struct{})}, nil
}

// Take waits until the predecessor has let go of its state. On an error it goes on.
func (p *Predecessor) Take() error {
	if err := p.conn.SetDeadline(time.Now().Add(2 * startTime)); err != nil {
		return err
	}
	if err := p.say(message{Step: asks}); err != nil {
		return err
	}
	return p.await(leaves)
}

// Abandon lets go of a predecessor, which goes on.
func (p *Predecessor) Abandon() { _ = p.conn.Close() }

// Commit tells the predecessor that this process serves, and waits until it accepts no more
// connections. last is called once it has ended, with its last word; nil: it has said none.
func (p *Predecessor) Commit(last func(map[string]int64)) error {
	err := p.say(message{Step: serves})
	if err == nil {
		err = errors.Join(p.await(left), p.conn.SetDeadline(time.Time{}))
	}
	go func() {
		defer close(p.gone)
		var m message
		_ = p.in.Decode(&m) // it has ended without one
		last(m.Last)
		_, _ = io.Copy(io.Discard, p.conn)
		_ = p.conn.Close()
	}()
	go p.orders.pass(p.link, p.gone)
	return err
}
