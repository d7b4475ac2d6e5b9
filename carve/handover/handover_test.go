//go:build unix

package handover

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"whittle"
	"whittle/internal/fatal"
)

// role is what this test's binary does when it is started as a successor.
const role = "WHITTLE_TEST_SUCCESSOR"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "":
		os.Exit(m.Run())
	case "takes over":
		p, err := Join()
		if err = errors.Join(err, p.Take()); err != nil {
			os.Exit(3)
		}
		p.Apply("a", whittle.Position{Generation: 6, Share: 100})
		p.Apply("a", whittle.Position{Generation: 7, Zero: 7})
		code := 1
		err = p.Commit(func(last map[string]int64) {
			if reflect.DeepEqual(last, map[string]int64{"a": 3}) {
				code = 0
			}
		})
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if p.Await(ctx, time.Minute); err != nil {
			code = 4
		}
		os.Exit(code)
	case "takes and fails":
		p, err := Join()
		if err = errors.Join(err, p.Take()); err != nil {
			os.Exit(3)
		}
	}
	os.Exit(2)
}

// replaced notes what is asked of the process that is replaced.
type replaced struct {
	mu    sync.Mutex // guards the following
	calls []string
	at    whittle.Position
	ended chan struct{}
	after *Successor
}

func (r *replaced) hooks() Hooks {
	call := func(what string) func() {
		return func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.calls = append(r.calls, what)
		}
	}
	return Hooks{
		Release: func() error { call("release")(); return nil },
		Resume:  call("resume"), Leave: func(s *Successor) { r.after = s; call("leave")() }, Lost: call("lost"),
		Apply: func(_ string, p whittle.Position) { r.mu.Lock(); defer r.mu.Unlock(); r.at = p },
		End:   func() { close(r.ended) },
	}
}

func start(t *testing.T, as string, h Hooks) error {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), role+"="+as)
	return Replace(cmd, h)
}

// TestReplace: the state is let go of before the other process has it, the last position is
// followed, and the last word arrives.
func TestReplace(t *testing.T) {
	r := &replaced{ended: make(chan struct{})}
	fatal.If(t, start(t, "takes over", r.hooks()))
	<-r.ended // which comes behind the positions
	r.after.Finish(map[string]int64{"a": 3})
	r.mu.Lock()
	defer r.mu.Unlock()
	if got := strings.Join(r.calls, " "); got != "release leave" || r.at.Generation != 7 {
		t.Errorf("%s, at %+v", got, r.at)
	}
}

// TestReplaceFails: a process that ends before it serves leaves everything as it was.
func TestReplaceFails(t *testing.T) {
	for as, want := range map[string]string{"ends": "", "takes and fails": "release resume"} {
		r := &replaced{}
		if err := start(t, as, r.hooks()); err == nil || !strings.Contains(err.Error(), "exit status 2") {
			t.Errorf("%s: %v", as, err)
		}
		fatal.Same(t, strings.Join(r.calls, " "), want, "%s", as)
	}
	r, refused := &replaced{}, errors.New("the disk is full")
	h := r.hooks()
	h.Release = func() error { return refused }
	if err := start(t, "takes over", h); err == nil || len(r.calls) > 0 {
		t.Errorf("a state that cannot be saved: %v, %v", err, r.calls)
	}
}
