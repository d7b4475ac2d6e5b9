package workers

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"whittle"
	"whittle/internal/fatal"
	"whittle/whittletest"

	client "github.com/nats-io/nats.go"
)

// TestAForgottenPartDoesNotKeepAWorkerFromItsEnd: what goes on of a job that was let go
// comes to its end after the worker has stopped taking outcomes, and must not wait for it.
func TestAForgottenPartDoesNotKeepAWorkerFromItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &Worker{ready: make(chan outcome), over: make(chan outcome), quit: make(chan struct{})}
		stopped := make(chan struct{})
		w.work.Go(func() {
			<-stopped
			outcome{job: new(job)}.pass(w.over, w.quit)
		})
		ctx, end := context.WithCancel(t.Context())
		end()
		w.loop(ctx)
		close(stopped)
		w.work.Wait() // in the bubble, a wait without end fails the test
	})
}

// TestALargeFileIsSeenOnceNothingIsRecorded: the flow before the run may look at what is not
// sent.
func TestALargeFileIsSeenOnceNothingIsRecorded(t *testing.T) {
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "big"))
	fatal.If(t, err)
	defer f.Close()
	if err := f.Truncate(maxBundle + 1); err != nil { // of holes
		t.Fatal(err)
	}
	p := newParcel()
	folder, err := p.Folder(dir)
	fatal.If(t, err)
	if _, err := p.pack(assignment{}); err != nil {
		t.Fatal(err)
	}
	if i, err := fs.Stat(folder, "big"); err != nil || i == nil || i.Size() != maxBundle+1 {
		t.Errorf("%v, %v", i, err)
	}
}

// TestAWorkerRunsOnePartAtATime: one that was let go still has requests under way for a
// while, which would be in the figures of the next.
func TestAWorkerRunsOnePartAtATime(t *testing.T) {
	conn, err := client.Connect(startNATS(t).ClientURL())
	fatal.If(t, err)
	defer conn.Close()
	w := &Worker{Link: linkTo(""), conn: conn, ready: make(chan outcome), quit: make(chan struct{})}
	defer w.work.Wait()
	defer close(w.quit)
	order := &client.Msg{Data: w.encode(message{Kind: toPrepare, Run: "next"})}
	first := &job{begun: true, stop: func() {}}
	w.job = first
	w.forget()
	if w.take(order); w.job != nil {
		t.Error("it reads the next plan while the part before goes on")
	}
	w.finished(outcome{job: first})
	if w.take(order); w.job == nil {
		t.Error("it does not read the next plan once the part before is over")
	}
}

// TestANameCannotMoveATerminal: names of workers are said and reported as they are.
func TestANameCannotMoveATerminal(t *testing.T) {
	for _, name := range []string{"", "a\x1b[2J", "a\nb", "\xff", strings.Repeat("a", maxName+1)} {
		whittletest.Refused(t, (&Worker{Name: name}).Serve(t.Context()), whittle.Invalid, "a worker called "+name)
		s := &session{Coordinator: new(Coordinator)}
		if err := s.joins(&message{Kind: toJoin, ID: "id", Name: name}, nil, nil); err != nil || len(s.members) != 0 {
			t.Errorf("%q joins: %v, %d members", name, err, len(s.members))
		}
	}
}
