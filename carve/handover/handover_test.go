//go:build unix

package handover

import (
	"errors"
	"fmt"
	"log/slog"
	"net/rpc"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"whittle"
	"whittle/internal/notify"
)

// world is a controller and a gateway of one process.
type world struct {
	mu       sync.Mutex
	run, seq uint64
	observed []uint64 // the runs, 0 for its own
	outcomes []int
	trips    []uint64
	recorded int
	ended    []uint64
	applied  []uint64
	watched  whittle.Share
	learned  []string
}

func (w *world) Observe(x *whittle.Exchange) whittle.Observation { return w.ObserveOf(0, x) }

func (w *world) ObserveOf(run uint64, _ *whittle.Exchange) whittle.Observation {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.observed = append(w.observed, run)
	return whittle.Observation{Counted: true, Differs: true}
}

func (w *world) Ended(_ string, last whittle.Counts) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = append(w.ended, last.Run)
}

func (w *world) Recheck(again *whittle.Recheck) (time.Duration, bool) {
	return time.Duration(len(again.Rounds)), again.Exchange.Conn > perProcess
}

func (w *world) Known(string, *whittle.Request) bool { return true }

func (w *world) Outcome(o whittle.Outcome) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.outcomes = append(w.outcomes, o.Status)
}

func (w *world) Tripped(_, _ string, generation uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.trips = append(w.trips, generation)
}

func (w *world) record(*whittle.Exchange) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.recorded++
	return true
}

func (w *world) Apply(_ string, p whittle.Position) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.applied = append(w.applied, p.Generation)
	return true
}

func (w *world) Watch(_ string, s whittle.Share) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.watched = s
}

func (w *world) Pace(string) (candidate string, slowest time.Duration) {
	return "c", time.Duration(w.run) * time.Second
}

func (w *world) LearnPace(route, candidate string, slowest time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.learned = append(w.learned, fmt.Sprint(route, " ", candidate, " ", slowest))
}

func (w *world) Counts(string) whittle.Counts {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seq++
	return whittle.Counts{Run: w.run, Seq: w.seq, Ledger: whittle.Ledger{Total: int64(w.seq)}}
}

// soon waits until a condition holds.
func (w *world) soon(t *testing.T, what string, holds func() bool) {
	t.Helper()
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for end := time.Now().Add(time.Minute); ; <-look.C {
		w.mu.Lock()
		ok := holds()
		w.mu.Unlock()
		if ok {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("never: %s: %+v", what, w)
		}
	}
}

func relayOf(run uint64) (*Relay, *world) {
	w := &world{run: run}
	r := NewRelay()
	r.Bind(w, w, w.record)
	return r, w
}

// attempted begins to replace a relay's process by one in this process.
func attempted(t *testing.T, r *Relay, h Hooks) (*replaced, *Predecessor) {
	t.Helper()
	cmd := &exec.Cmd{}
	calls, orders, err := pair(cmd)
	if err != nil {
		t.Fatal(err)
	}
	h.Routes, h.Log = []string{"a"}, slog.New(slog.DiscardHandler)
	p := &replaced{relay: r, hooks: h, calls: rpc.NewClient(calls), within: callTime, done: make(chan struct{})}
	s := rpc.NewServer()
	if err := s.RegisterName(predecessorName, p); err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		s.ServeConn(orders)
	}()
	var ends [2]interface {
		Read([]byte) (int, error)
		Write([]byte) (int, error)
		Close() error
	}
	for i, f := range cmd.ExtraFiles {
		fd, err := unix.Dup(int(f.Fd())) // connOf closes it, and f closes its own
		if err != nil {
			t.Fatal(err)
		}
		c, err := connOf(fd)
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		ends[i] = c
	}
	before := &Predecessor{client: rpc.NewClient(ends[1]), within: callTime, calls: ends[0], gone: make(chan struct{}), wake: notify.New(), reports: map[string][]whittle.Counts{}}
	t.Cleanup(func() {
		before.Abandon()
		_ = p.calls.Close() // it may be closed already
		<-served
	})
	return p, before
}

func hooks(said *[]string) Hooks {
	return Hooks{
		Release: func() error { *said = append(*said, "release"); return nil },
		Resume:  func() { *said = append(*said, "resume") },
		Leave:   func() { *said = append(*said, "leave") },
		End:     func() {},
	}
}

// TestHandOver: whoever waits in between is responded to by the successor, and nothing of
// what came meanwhile is lost.
func TestHandOver(t *testing.T) {
	old, before := relayOf(1)
	var said []string
	attempt, p := attempted(t, old, hooks(&said))
	old.Observe(&whittle.Exchange{Route: "a"})
	alive, err := p.Take()
	if err != nil || !slices.Equal(alive["a"], []uint64{1}) {
		t.Fatal(alive, err)
	}
	old.Outcome(whittle.Outcome{Route: "a", Status: 1})
	old.Tripped("a", "why", 5)
	old.Tripped("a", "late", 4)
	old.Record(&whittle.Exchange{Route: "a"})
	waiting := make(chan whittle.Observation, 1)
	go func() {
		waiting <- old.Observe(&whittle.Exchange{Route: "a", Conn: 3, Repeat: &whittle.Response{Status: 7}})
	}()

	next, after := relayOf(2)
	if err := next.Commit(p); err != nil {
		t.Fatal(err)
	}
	if o := <-waiting; !o.Counted || !o.Differs {
		t.Errorf("%+v", o)
	}
	old.Outcome(whittle.Outcome{Route: "a", Status: 2})
	if d, more := old.Recheck(&whittle.Recheck{Exchange: &whittle.Exchange{Route: "a", Conn: 3}, Rounds: make([]whittle.Round, 4)}); d != 4 || !more {
		t.Error(d, more)
	}
	after.soon(t, "the outcomes came", func() bool { return slices.Equal(after.outcomes, []int{1, 2}) })
	if !slices.Equal(after.trips, []uint64{5}) || after.recorded != 1 || !slices.Equal(after.observed, []uint64{1}) || len(before.outcomes) != 0 || !slices.Equal(before.observed, []uint64{0}) {
		t.Errorf("the successor %+v, the predecessor %+v", after, before)
	}
	if !slices.Equal(after.learned, []string{"a c 1s"}) || len(before.learned) > 0 {
		t.Errorf("of the candidate's pace %q is known, and %q there", after.learned, before.learned)
	}
	next.Apply("a", whittle.Position{Generation: 9})
	next.Apply("a", whittle.Position{Generation: 8})
	next.Watch("a", 7)
	before.soon(t, "the decision is in force there too", func() bool { return slices.Contains(before.applied, 9) && before.watched == 7 })
	if others := next.Others("a"); len(others) != 1 || others[0].Run != 1 {
		t.Errorf("%+v", others)
	}
	if attempt.abort() {
		t.Error("it was taken back from who had taken over")
	}
	old.Outcome(whittle.Outcome{Route: "a", Status: 3})
	old.Finish()
	after.soon(t, "the end is known", func() bool {
		return slices.Equal(after.ended, []uint64{1}) && slices.Equal(after.outcomes, []int{1, 2, 3})
	})
	if others := next.Others("a"); len(others) != 0 {
		t.Errorf("%+v", others)
	}
	if !slices.Equal(said, []string{"release", "leave"}) {
		t.Error(said)
	}
}

// TestTakenBack: a successor that does not serve leaves everything as it was.
func TestTakenBack(t *testing.T) {
	old, before := relayOf(1)
	var said []string
	attempt, p := attempted(t, old, hooks(&said))
	if _, err := p.Take(); err != nil {
		t.Fatal(err)
	}
	old.Outcome(whittle.Outcome{Route: "a", Status: 1})
	old.Tripped("a", "why", 5)
	waiting := make(chan whittle.Observation, 1)
	go func() { waiting <- old.Observe(&whittle.Exchange{Route: "a"}) }()
	p.Abandon()
	if !attempt.abort() {
		t.Fatal("not taken back")
	}
	<-waiting
	old.Outcome(whittle.Outcome{Route: "a", Status: 2})
	before.soon(t, "all of it came", func() bool {
		return slices.Equal(before.outcomes, []int{1, 2}) && slices.Equal(before.trips, []uint64{5}) && slices.Equal(before.observed, []uint64{0})
	})
	if !slices.Equal(said, []string{"release", "resume"}) {
		t.Error(said)
	}
	if err := attempt.Commit(struct{}{}, &Batch{}); err == nil {
		t.Error("committed after it was taken back")
	}
}

// TestRefusedRelease: where the state cannot be saved nobody takes over.
func TestRefusedRelease(t *testing.T) {
	old, before := relayOf(1)
	var said []string
	h := hooks(&said)
	h.Release = func() error { return whittle.Errorf(whittle.ResourceExhausted, "the disk is full") }
	attempt, p := attempted(t, old, h)
	if _, err := p.Take(); err == nil {
		t.Error("released")
	}
	old.Outcome(whittle.Outcome{Route: "a", Status: 1})
	if !slices.Equal(before.outcomes, []int{1}) {
		t.Errorf("%+v", before)
	}
	if !attempt.abort() || len(said) > 0 {
		t.Error(said)
	}
}

// TestLost: when the successor is gone, what is left of its predecessor goes on by itself.
func TestLost(t *testing.T) {
	old, _ := relayOf(1)
	var said []string
	_, p := attempted(t, old, hooks(&said))
	if _, err := p.Take(); err != nil {
		t.Fatal(err)
	}
	next, after := relayOf(2)
	if err := next.Commit(p); err != nil {
		t.Fatal(err)
	}
	p.Abandon()
	if o := old.Observe(&whittle.Exchange{Route: "a"}); o.Skip != whittle.SkipInterrupted {
		t.Errorf("%+v", o)
	}
	old.Outcome(whittle.Outcome{})
	old.Finish()
	after.soon(t, "the end is known", func() bool { return slices.Equal(after.ended, []uint64{1}) })
}

// TestBoxIsBounded: what waits for a decision on who decides takes so much and no more.
func TestBoxIsBounded(t *testing.T) {
	var b box
	for range 2 * maxOutcomes {
		b.outcome(whittle.Outcome{})
	}
	taken := 0
	for range 100 {
		if b.exchange(&whittle.Exchange{Request: whittle.Request{Body: make([]byte, 1<<20)}}) {
			taken++
		}
	}
	if n := len(b.take().Outcomes); n != maxOutcomes || taken != 15 {
		t.Errorf("%d outcomes, %d exchanges", n, taken)
	}
	if again := b.take(); !again.empty() {
		t.Errorf("%+v", again)
	}
}

// TestPermits: what a process keeps of a fleet's permits, which is less as it says so, counts
// until it has ended and the one that took over has got a good response since; and its place
// in the fleet is handed over once it has left it, and not before.
func TestPermits(t *testing.T) {
	old, _ := relayOf(1)
	var said []string
	h := hooks(&said)
	lost := make(chan struct{})
	h.Handed = func() []byte { return []byte("place") }
	var keeps atomic.Int64
	keeps.Store(9)
	h.Keep = func() map[string]int { return map[string]int{"c": int(keeps.Load())} }
	h.Lost = func() { close(lost) }
	_, p := attempted(t, old, h)
	if b, err := p.Handed(); err != nil || len(b) > 0 {
		t.Errorf("before it was left: %q %v", b, err)
	}
	if _, err := p.Take(); err != nil {
		t.Fatal(err)
	}
	if b, err := p.Handed(); err != nil || string(b) != "place" {
		t.Errorf("%q %v", b, err)
	}
	next, after := relayOf(2)
	if err := next.Commit(p); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	if n := next.Exposed("c", begun.Add(time.Hour)); n != 9 || next.Exposed("other", begun) != 0 {
		t.Errorf("%d while it goes on", n)
	}
	keeps.Store(7)
	after.soon(t, "some are given back", func() bool { return next.Exposed("c", begun.Add(time.Hour)) == 7 })
	p.Abandon() // as if this process were gone
	after.soon(t, "the end is known", func() bool { return slices.Equal(after.ended, []uint64{1}) })
	if n := next.Exposed("c", begun); n != 7 {
		t.Errorf("%d after its end", n)
	}
	if n := next.Exposed("c", time.Now().Add(time.Hour)); n != 0 || next.Exposed("c", begun) != 0 {
		t.Errorf("%d after a good response", n)
	}
	old.Observe(&whittle.Exchange{Route: "a"})
	<-lost
}

// TestHungSuccessor: a successor that is there and responds no more holds neither its predecessor's
// requests nor its end.
func TestHungSuccessor(t *testing.T) {
	old, _ := relayOf(1)
	var said []string
	h := hooks(&said)
	lost := make(chan struct{})
	h.Lost = func() { close(lost) }
	attempt, p := attempted(t, old, h)
	attempt.within = time.Millisecond
	if _, err := p.Take(); err != nil {
		t.Fatal(err)
	}
	var b Batch
	if err := p.client.Call(predecessorName+".Commit", struct{}{}, &b); err != nil { // and it reads no call
		t.Fatal(err)
	}
	if o := old.Observe(&whittle.Exchange{Route: "a", Request: whittle.Request{Body: make([]byte, 1<<20)}}); o.Skip != whittle.SkipInterrupted {
		t.Errorf("%+v", o)
	}
	if d, more := old.Recheck(&whittle.Recheck{Exchange: &whittle.Exchange{Route: "a"}}); d != 0 || more {
		t.Error(d, more)
	}
	<-lost
	old.Outcome(whittle.Outcome{Route: "a", Status: 1})
	old.Finish()
	p.Abandon()
}

// TestHungPredecessor: a predecessor that does not respond holds neither the takeover nor, once this
// process serves, its end.
func TestHungPredecessor(t *testing.T) {
	old, _ := relayOf(1)
	release, leave := make(chan struct{}), make(chan struct{})
	h := hooks(new([]string))
	h.Release = func() error { <-release; return nil }
	h.Leave = func() { <-leave }
	attempt, p := attempted(t, old, h)
	p.within = time.Millisecond
	if _, err := p.Take(); err == nil {
		t.Error("a predecessor that hung has released")
	}
	close(release)
	new(world).soon(t, "it has released", func() bool {
		attempt.mu.Lock()
		defer attempt.mu.Unlock()
		return attempt.state == released
	})
	next, _ := relayOf(2)
	if err := next.Commit(p); err == nil {
		t.Error("a predecessor that hung has left")
	}
	next.AwaitPredecessors(t.Context(), time.Minute)
	new(world).soon(t, "it is forgotten", func() bool { return len(next.all()) == 0 })
	close(leave)
	if !attempt.abort() { // it was asked to leave before the connection was closed
		if o := old.Observe(&whittle.Exchange{Route: "a"}); o.Skip != whittle.SkipInterrupted {
			t.Errorf("%+v", o)
		}
	} else if o := old.Observe(&whittle.Exchange{Route: "a"}); !o.Counted {
		t.Errorf("%+v", o)
	}
	old.Finish()
}
