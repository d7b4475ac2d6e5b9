// Package instances runs the built whittle before upstreams of several real
// instances, which are killed, replaced and moved in DNS while users ask.
package instances

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"whittle/e2e/process"
	"whittle/internal/fatal"
)

var gateway string

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "instance" {
		fmt.Fprintln(os.Stderr, instance(os.Args[2], os.Args[3], os.Args[4])) // until it is killed
		os.Exit(1)
	}
	process.Main(m, func() error {
		built, err := process.Build("./cmd/whittle")
		gateway = filepath.Join(built, "whittle")
		return err
	})
}

// instance is one of an upstream's servers: a process of its own at an address. It
// answers with its name and the request's id, and notes each write in a file that all
// share, before it answers.
func instance(name, address, done string) error {
	notes, err := os.OpenFile(done, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	l, err := bind(address)
	if err != nil {
		return err
	}
	fmt.Printf("listening public=%s admin=off\n", l.Addr())
	return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		id := r.URL.Query().Get("id")
		if r.Method == http.MethodPost {
			if _, err := notes.WriteString(id + "\n"); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
		}
		_, _ = fmt.Fprintf(w, "%s %s", name, id)
	}))
}

// bind waits for the address of an instance that was killed a moment ago.
func bind(address string) (net.Listener, error) {
	var lc net.ListenConfig
	for end := time.Now().Add(10 * time.Second); ; {
		l, err := lc.Listen(context.Background(), "tcp", address)
		if err == nil || !errors.Is(err, syscall.EADDRINUSE) || time.Now().After(end) {
			return l, err
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// start starts an instance.
func start(t *testing.T, name, address, done string) *process.Process {
	t.Helper()
	return process.Start(t, os.Args[0], "instance", name, address, done)
}

// gate is the gateway with its config.
type gate struct {
	*process.Process
	config string
}

func run(t *testing.T, config string) *gate {
	t.Helper()
	g := &gate{config: filepath.Join(t.TempDir(), "whittle.yaml")}
	g.write(t, config)
	g.Process = process.Start(t, gateway, "run", "-c", g.config)
	return g
}

func (g *gate) write(t *testing.T, config string) {
	t.Helper()
	fatal.Write(t, g.config, "listen: 127.0.0.1:0\nadmin: 127.0.0.1:0\n"+config)
}

// span is a stretch of time.
type span struct{ from, to time.Time }

func (s span) overlaps(o span) bool { return s.from.Before(o.to) && o.from.Before(s.to) }

// load is what users ask, and what came of it.
type load struct {
	url  string
	stop chan struct{}
	all  sync.WaitGroup

	mu sync.Mutex // guards the following
	// served counts what instances answered, by name.
	served map[string]int
	// written are the writes that were answered, failed those that were not, with when
	// they were under way.
	written map[string]bool
	failed  map[string]span
	faults  []string
	n       int
}

// rest is how often a user asks at most, so that the machine is left to other tests too.
const rest = 10 * time.Millisecond

// begin has so many users read and write until end is called, with bodies that are
// sent in both ways.
func begin(url string, readers, writers int) *load {
	l := &load{url: url, stop: make(chan struct{}), served: map[string]int{}, written: map[string]bool{}, failed: map[string]span{}}
	for i := range readers + writers {
		l.all.Go(func() {
			method, body := http.MethodPost, strings.Repeat("x", i%2*20_000)
			if i < readers {
				method, body = http.MethodGet, ""
			}
			l.user(i, method, body)
		})
	}
	return l
}

func (l *load) user(i int, method, body string) {
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	due := time.NewTicker(rest)
	defer due.Stop()
	for n := 0; ; n++ {
		select {
		case <-l.stop:
			return
		case <-due.C:
		}
		id := fmt.Sprintf("%d-%d", i, n)
		q, err := http.NewRequestWithContext(context.Background(), method, l.url+"/?id="+id, strings.NewReader(body))
		if err != nil {
			panic(err)
		}
		if method == http.MethodGet {
			q.Body = nil
		}
		status, text, from := 0, "", time.Now()
		resp, err := tr.RoundTrip(q)
		if err == nil {
			var b []byte
			if b, err = io.ReadAll(resp.Body); err == nil {
				status, text = resp.StatusCode, string(b)
			}
			resp.Body.Close()
		}
		l.note(method, id, status, text, span{from, time.Now()}, err)
	}
}

func (l *load) note(method, id string, status int, text string, at span, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n++
	name, of, _ := strings.Cut(text, " ")
	switch {
	case err == nil && status == http.StatusOK && of == id:
		l.served[name]++
		if method == http.MethodPost {
			l.written[id] = true
		}
	case method == http.MethodPost && status == http.StatusBadGateway:
		l.failed[id] = at
	default:
		l.faults = append(l.faults, fmt.Sprintf("%s %s: %d %.80q %v", method, id, status, text, err))
	}
}

// count is how many responses an instance gave; "": all did.
func (l *load) count(name string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if name == "" {
		return l.n
	}
	return l.served[name]
}

// more waits until an instance has given n more responses.
func (l *load) more(t *testing.T, name string, n int) {
	t.Helper()
	want := l.count(name) + n
	process.Until(t, "requests at "+name, func() bool { return l.count(name) >= want })
}

// end has all users stop, and holds that nobody saw an error.
func (l *load) end(t *testing.T) {
	t.Helper()
	close(l.stop)
	l.all.Wait()
	for _, f := range l.faults {
		t.Error(f)
	}
}
