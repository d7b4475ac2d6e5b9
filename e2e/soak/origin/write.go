package origin

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"time"

	"whittle/e2e/soak/plan"
)

// errCut says that the fault ended the response.
var errCut = errors.New("the fault ends the response here")

// write writes the response with the fault in it; false: the connection is to be
// closed. A status other than 200 is of what has gone wrong with the request.
func (x *exchange) write(found, status int) bool {
	if found != http.StatusOK {
		_, _ = fmt.Fprintf(x.c, "HTTP/1.1 %d Wrong\r\n%s: %d\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", found, plan.Of, x.p.Number)
		return false
	}
	switch x.fault {
	case plan.ResetBefore:
		reset(x.c)
		return false
	case plan.CloseBefore:
		return false
	case plan.Silence:
		_ = x.c.SetReadDeadline(time.Now().Add(silent))
		_, _ = x.r.Peek(1) // until the peer gives up
		return false
	case plan.Garbage:
		_, _ = io.WriteString(x.c, "220 soak.example ESMTP ready\r\n250 HELP\r\n\r\n")
		return false
	case plan.Informed:
		_, _ = io.WriteString(x.c, "HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n") // the next write finds out
	case plan.StallHead:
		pause(200 * time.Millisecond)
	}
	head := x.head(status)
	w := &faulty{x: x, head: len(head), cut: x.cut(len(head))}
	if err := x.writeAll(w, head); err != nil {
		if x.fault == plan.ResetHead || x.fault == plan.ResetBody {
			pause(3 * time.Millisecond) // what was written before arrives
			reset(x.c)
		}
		return false
	}
	return x.after()
}

// writeAll writes head, body and trailer.
func (x *exchange) writeAll(w io.Writer, head []byte) error {
	p := x.p
	if p.Bodiless() {
		_, err := w.Write(append(head, unasked(x.fault)...))
		return err
	}
	if p.Way == plan.Events {
		return x.stream(w, head)
	}
	body := p.Response()
	if p.Framing == plan.ByChunks {
		if _, err := w.Write(head); err != nil {
			return err
		}
		_, err := body.WriteTo(chunks{w, x.fault == plan.BadChunk})
		if err == nil {
			_, err = io.WriteString(w, x.lastChunk())
		}
		return err
	}
	if p.Length < 32<<10 && (x.fault == plan.None || x.fault == plan.GarbageAfter || x.fault == plan.SecondAfter) { // in one write, as servers do
		_, err := w.Write(append(append(head, body.Bytes()...), unasked(x.fault)...))
		return err
	}
	_, err := w.Write(head)
	if err == nil {
		_, err = body.WriteTo(w)
	}
	return err
}

func (x *exchange) lastChunk() string {
	if !x.p.Trailer {
		return "0\r\n\r\n"
	}
	return fmt.Sprintf("0\r\n%s-End: %d\r\n\r\n", plan.Of, x.p.Number)
}

// stream writes events as they happen.
func (x *exchange) stream(w io.Writer, head []byte) error {
	_, err := w.Write(head)
	for i := 0; i < x.p.Length && err == nil; i++ {
		pause(10 * time.Millisecond)
		_, err = chunks{w, false}.Write([]byte(x.p.Event(i)))
	}
	if err == nil {
		_, err = io.WriteString(w, "0\r\n\r\n")
	}
	return err
}

// cut is after how many bytes the fault ends the response; negative: it does not.
func (x *exchange) cut(head int) int {
	switch x.fault {
	case plan.ResetHead, plan.CloseHead:
		return head / 2
	case plan.ResetBody, plan.CloseBody:
		return head + 1 + x.p.Length/2
	default:
		return -1
	}
}

// after is what follows a whole response.
func (x *exchange) after() bool {
	switch x.fault {
	case plan.HalfClose:
		_ = x.c.CloseWrite()
		x.linger()
		return false
	case plan.CloseAfter:
		return false
	}
	return x.p.Framing != plan.ByClose && !x.q.Close
}

// unasked is what follows a response in one piece with it. Whoever reads it is at fault.
func unasked(f plan.Fault) string {
	switch f {
	case plan.GarbageAfter:
		return "\r\nX-Poison: 1\r\n\r\npoison"
	case plan.SecondAfter:
		return "HTTP/1.1 200 OK\r\n" + plan.Of + ": 0\r\nContent-Length: 6\r\n\r\npoison"
	}
	return ""
}

// pause waits for up to d.
func pause(d time.Duration) { time.Sleep(rand.N(d)) }

// chunks writes each piece as a chunk.
type chunks struct {
	w   io.Writer
	bad bool // the second half of each is one whose size is none
}

func (c chunks) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if c.bad {
		_, err := fmt.Fprintf(c.w, "%x\r\n%s\r\nzz\r\n", (len(p)+1)/2, p[:(len(p)+1)/2])
		if err == nil {
			err = errCut
		}
		return 0, err
	}
	if _, err := fmt.Fprintf(c.w, "%x\r\n%s\r\n", len(p), p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// faulty writes to the connection as the fault has it.
type faulty struct {
	x    *exchange
	head int
	at   int
	cut  int
	did  bool // it has been silent
}

func (w *faulty) Write(p []byte) (int, error) {
	for n := 0; n < len(p); {
		next := p[n:]
		if w.cut >= 0 {
			if w.at >= w.cut {
				return n, errCut
			}
			next = next[:min(len(next), w.cut-w.at)]
		}
		switch w.x.fault {
		case plan.Sliced:
			if w.at < 4*w.head { // the rest goes as it is
				next = next[:min(len(next), 1+rand.IntN(40))]
				if rand.IntN(4) == 0 {
					time.Sleep(time.Millisecond)
				}
			}
		case plan.StallBody:
			if !w.did && w.at > w.head {
				pause(200 * time.Millisecond)
				w.did = true
			}
			if w.at < w.head {
				next = next[:min(len(next), w.head+1-w.at)]
			} else if !w.did {
				next = next[:1]
			}
		}
		m, err := w.x.c.Write(next)
		n, w.at = n+m, w.at+m
		if err != nil {
			return n, err
		}
	}
	return len(p), nil
}
