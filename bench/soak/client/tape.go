package client

import (
	"net"
	"sync"
)

// taped bounds what a tape keeps of each direction, in bytes.
const taped = 4 << 10

// Tape is the last that was sent and received over a connection.
type Tape struct {
	Sent     string `json:"sent"`
	Received string `json:"received"`
	// SentBytes and ReceivedBytes count all of it.
	SentBytes     int64 `json:"sent_bytes"`
	ReceivedBytes int64 `json:"received_bytes"`
}

// recorder records a connection.
type recorder struct {
	net.Conn
	sent, received track
}

func record(c net.Conn) *recorder { return &recorder{Conn: c} }

func (r *recorder) Read(p []byte) (int, error) {
	n, err := r.Conn.Read(p)
	r.received.add(p[:n])
	return n, err
}

func (r *recorder) Write(p []byte) (int, error) {
	n, err := r.Conn.Write(p)
	r.sent.add(p[:n])
	return n, err
}

// Tape may be called while the connection is used.
func (r *recorder) Tape() Tape {
	if r == nil {
		return Tape{}
	}
	var t Tape
	t.Sent, t.SentBytes = r.sent.text()
	t.Received, t.ReceivedBytes = r.received.text()
	return t
}

// track keeps the last bytes of a direction.
type track struct {
	mu   sync.Mutex // guards the following
	last []byte
	all  int64
}

func (t *track) add(p []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all += int64(len(p))
	if len(p) >= taped {
		t.last = append(t.last[:0], p[len(p)-taped:]...)
		return
	}
	if len(t.last)+len(p) > 2*taped {
		t.last = append(t.last[:0], t.last[len(t.last)-taped:]...)
	}
	t.last = append(t.last, p...)
}

func (t *track) text() (string, int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.last[max(0, len(t.last)-taped):]), t.all
}
