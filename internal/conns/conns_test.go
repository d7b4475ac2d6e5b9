package conns

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestSet: what is open is waited for, and cut when the time is over; nothing comes in once
// the set is closing.
func TestSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Set[int]
		if err := s.Wait(t.Context(), nil); err != nil {
			t.Errorf("an empty set: %v", err)
		}
		ends := map[int]chan struct{}{1: make(chan struct{}), 2: make(chan struct{})}
		for c, end := range ends {
			if !s.Go(c, func() { <-end }) {
				t.Fatal("refused")
			}
		}
		var seen []int
		s.Close(func(c int) { seen = append(seen, c) })
		if len(seen) != 2 || s.Len() != 2 || !s.Closing() {
			t.Errorf("closing: %v of %d", seen, s.Len())
		}
		if s.Add(3) || s.Go(3, func() {}) {
			t.Error("it takes one in while it is closing")
		}
		soon, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.Wait(soon, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("without a cut: %v", err)
		}
		close(ends[1])
		synctest.Wait()
		var cut []int
		if err := s.Wait(soon, func(c int) { cut = append(cut, c); close(ends[c]) }); err != nil || fmt.Sprint(cut) != "[2]" || s.Len() != 0 {
			t.Errorf("with a cut: %v, of %v, %d left", err, cut, s.Len())
		}
	})
}

// TestHandle tells a whole response from one that is not, and logs no panic that is meant.
func TestHandle(t *testing.T) {
	for name, tt := range map[string]struct {
		handler func()
		whole   bool
		logs    string
	}{
		"returns": {func() {}, true, ""},
		"aborts":  {func() { panic(http.ErrAbortHandler) }, false, ""},
		"panics":  {func() { panic("oh") }, false, "panic serving 192.0.2.1:5: oh"},
	} {
		var log strings.Builder
		whole := Handle(tt.handler, "192.0.2.1:5", func(f string, args ...any) { fmt.Fprintf(&log, f, args...) })
		if whole != tt.whole || !strings.Contains(log.String(), tt.logs) || tt.logs == "" && log.Len() > 0 {
			t.Errorf("%s: whole %v, logged %q", name, whole, &log)
		}
	}
}

// TestResume gives what was read before all else, and passes the rest through.
func TestResume(t *testing.T) {
	near, far := net.Pipe()
	defer near.Close()
	read := []byte("abc")
	c := Resume(near, read)
	read[0] = 'x' // it has a copy
	go func() {
		_, _ = io.WriteString(far, "def")
		_ = far.Close()
	}()
	if b, err := io.ReadAll(c); err != nil || string(b) != "abcdef" {
		t.Errorf("%q, %v", b, err)
	}
	if Resume(near, nil) != near {
		t.Error("a connection of which nothing was read is another one")
	}
	if err := CloseWrite(c); !errors.Is(err, errors.ErrUnsupported) || Unsent(c) != 0 {
		t.Errorf("a pipe: %v, %d unsent", err, Unsent(c))
	}
}

// TestHanded: what is given is accepted, and closed where nobody accepts any more.
func TestHanded(t *testing.T) {
	l := NewHanded(&net.TCPAddr{Port: 7})
	near, far := net.Pipe()
	defer far.Close()
	go l.Give(near)
	c, err := l.Accept()
	if err != nil || c != near || l.Addr().String() != ":7" {
		t.Fatalf("%v, %v at %v", c, err, l.Addr())
	}
	_, _ = l.Close(), l.Close()
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
	l.Give(near)
	if _, err := near.Write([]byte("x")); err == nil {
		t.Error("it is open")
	}
}
