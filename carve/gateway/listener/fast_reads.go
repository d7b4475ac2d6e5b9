package listener

import (
	"net"
	"sync"
	"time"
)

// fastReads sets a connection's read deadline only when somebody is about to wait,
// and only where the one in force will not do. Any goroutine may ask for one.
type fastReads struct {
	net net.Conn

	mu      sync.Mutex // guards the following
	want    time.Time  // zero: none
	inForce time.Time
	waiting bool
}

// until asks for a deadline a timeout after since. One that is in force already and is
// earlier by no more than slack does.
func (r *fastReads) until(since time.Time, timeout, slack time.Duration) {
	to := since.Add(timeout)
	r.mu.Lock()
	defer r.mu.Unlock()
	if early := to.Sub(r.inForce); early >= 0 && early <= slack {
		to = r.inForce
	}
	r.want = to
}

// SetReadDeadline asks for a deadline. One for a read that is waiting is in force at
// once.
func (r *fastReads) SetReadDeadline(t time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.want = t
	if r.waiting {
		return r.apply()
	}
	return nil
}

func (r *fastReads) apply() error {
	if r.want.Equal(r.inForce) {
		return nil
	}
	r.inForce = r.want
	return r.net.SetReadDeadline(r.want)
}

// begin puts the deadline in force before a read that nobody but shutdown ends.
func (r *fastReads) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.apply() // the read fails then, too
}

func (r *fastReads) read(p []byte) (int, error) {
	r.mu.Lock()
	r.waiting = true
	err := r.apply()
	r.mu.Unlock()
	n := 0
	if err == nil {
		n, err = r.net.Read(p)
	}
	r.mu.Lock()
	r.waiting = false
	r.mu.Unlock()
	return n, err
}
