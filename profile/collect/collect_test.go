package collect

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"os"
	"os/exec"
	"path/filepath"
	rpprof "runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"whittle"
	"whittle/e2e/process"
	"whittle/internal/fatal"
	"whittle/internal/needs"
	"whittle/profile"
	"whittle/whittletest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// node starts the server of testdata; it ends with the test.
func node(t *testing.T, flags ...string) (pid int, base string) {
	t.Helper()
	return nodeOf(t, "testdata/server.js", flags...)
}

// nodeOf starts a server that says its port.
func nodeOf(t *testing.T, script string, flags ...string) (pid int, base string) {
	t.Helper()
	server, err := filepath.Abs(script)
	fatal.If(t, err)
	pid, port := runs(t, append(flags, server)...)
	return pid, "http://127.0.0.1:" + port
}

// script runs a program of Node's, and gives its id when it says something.
func script(t *testing.T, text string) (pid int) {
	t.Helper()
	pid, _ = runs(t, "-e", text)
	return pid
}

// runs has Node run until the test ends, and gives its first line.
func runs(t *testing.T, args ...string) (pid int, said string) {
	t.Helper()
	cmd := exec.Command(needs.Node(t), append([]string{"--inspect-port=0"}, args...)...)
	in, err := cmd.StdinPipe()
	fatal.If(t, err)
	out, err := cmd.StdoutPipe()
	fatal.If(t, err)
	fatal.If(t, cmd.Start())
	t.Cleanup(func() {
		in.Close() // a server's end
		if args[0] == "-e" {
			cmd.Process.Kill()
		}
		cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	fatal.If(t, err)
	return cmd.Process.Pid, strings.TrimSpace(line)
}

// busy sends requests until the test ends.
func busy(t *testing.T, requests ...func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			for _, r := range requests {
				if err := r(ctx); err != nil && ctx.Err() == nil {
					t.Errorf("request: %v", err)
					return
				}
			}
		}
	})
	t.Cleanup(func() {
		cancel()
		wg.Wait()
		http.DefaultClient.CloseIdleConnections()
		client.CloseIdleConnections()
	})
}

func request(method, url string) func(context.Context) error {
	return func(ctx context.Context) error {
		r, err := http.NewRequestWithContext(ctx, method, url, nil)
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		_, err = io.Copy(io.Discard, resp.Body)
		return err
	}
}

// window is how long a profile takes, of a Go service a second at least.
func window() time.Duration {
	if testing.Short() {
		return 400 * time.Millisecond
	}
	return time.Second
}

func take(t *testing.T, target string, kind profile.Kind) *Collected {
	t.Helper()
	s, err := Open(t.Context(), target)
	fatal.If(t, err)
	taken, err := s.Take(t.Context(), kind, window())
	if err != nil {
		t.Error(err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Errorf("close: %v", err)
	}
	if taken == nil {
		t.FailNow()
	}
	return taken
}

// endpoints gives those that have a share of a profile worth the name.
func endpoints(p *profile.Profile) []string {
	var out []string
	for _, e := range p.ByEndpoint() {
		if e.Endpoint != "" && e.Share > 0.02 {
			out = append(out, e.Endpoint)
		}
	}
	return out
}

// What V8 optimized long before the profiler came is reported by function, line and
// endpoint all the same.
func TestNodeByProcessID(t *testing.T) {
	pid, base := node(t)
	count, list := request("POST", base+"/Count"), request("GET", base+"/things")
	for range 100 {
		fatal.If(t, errors.Join(count(t.Context()), list(t.Context())))
	}
	busy(t, count, list)
	before := listens(t, pid)
	p := take(t, strconv.Itoa(pid), profile.CPU)
	if got := endpoints(p.Profile); !slices.Contains(got, "POST /Count") || !slices.Contains(got, "GET /things") {
		t.Errorf("endpoints %v", got)
	}
	for name, line := range map[string]int32{"draw": 11, "list": 18} { // its sum, its JSON
		if !slices.ContainsFunc(p.Sites(5), func(s profile.Site) bool { return p.Functions[s.Function].Name == name && s.Line == line }) {
			t.Errorf("line %d, in %s, is not among the dearest: %+v", line, name, p.Sites(5))
		}
	}
	if first, last := p.Samples[0].At, p.Samples[len(p.Samples)-1].At; first < 0 || first >= last || last > p.Duration || p.Runtime != profile.Node {
		t.Errorf("samples from %s to %s of %s, of %s", first, last, p.Duration, p.Runtime)
	}
	if !strings.HasSuffix(p.Service, "server.js") || p.Ext != ".cpuprofile" || len(p.Raw) == 0 {
		t.Errorf("service %q, file %q", p.Service, p.Ext)
	}
	// The inspector is closed again, and can be opened again.
	untilListening(t, pid, before)
	if again := take(t, strconv.Itoa(pid), profile.CPU); again.Ext != ".cpuprofile" {
		t.Errorf("file %q", again.Ext)
	}
}

// What worker threads and libuv's pool use is in the total, under names of their own.
func TestNodeAllOfItsThreads(t *testing.T) {
	pid, base := nodeOf(t, "testdata/threads.js")
	worker, pool := request("GET", base+"/worker"), request("GET", base+"/pool")
	fatal.If(t, worker(t.Context())) // its thread is up: one that only starts has no profile
	busy(t, worker)
	busy(t, pool)
	p := take(t, strconv.Itoa(pid), profile.CPU)
	spent := map[string]int64{}
	for i := range p.Samples {
		s := &p.Samples[i]
		if p.CategoryOf(s) != profile.Idle {
			spent[p.Functions[s.Stack[len(s.Stack)-1].Function].Name] += s.Value
		}
	}
	for _, name := range []string{"worker: threads.js", otherThreads} {
		if share := float64(spent[name]) / float64(p.Total()); share < 0.1 {
			t.Errorf("%s has %.2f of the CPU: %v", name, share, spent)
		}
	}
	if len(p.Blocked()) > 0 {
		t.Errorf("another thread keeps the event loop: %+v", p.Blocked())
	}
}

// A look at a process that does nothing tells nothing; one that is broken off is
// no reason to begin anew.
func TestALookNeedsSomethingToSee(t *testing.T) {
	pid, _ := node(t)
	i := attached(t, pid)
	_, err := i.startCPU(t.Context(), time.Minute, false)
	fatal.If(t, err)
	if got := i.inlined(t.Context(), 100*time.Millisecond); got != profile.Untold || i.look == nil {
		t.Errorf("%d: it saw %d bytes of nothing", got, len(i.look))
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if i.inlined(ended, time.Hour) == profile.Hidden {
		t.Error("it was broken off")
	}
	if raw, err := i.stop(t.Context()); err != nil || len(raw) == 0 {
		t.Errorf("the profile itself went on to its end: %v", err)
	}
}

// attached opens a process of Node's until the test ends.
func attached(t *testing.T, pid int) *inspector {
	t.Helper()
	i := opens(t, pid)
	t.Cleanup(func() { _ = i.Close(context.Background()) }) // what it says is not these tests'
	return i
}

// opens opens a process of Node's.
func opens(t *testing.T, pid int) *inspector {
	t.Helper()
	s, err := Open(t.Context(), strconv.Itoa(pid))
	fatal.If(t, err)
	return s.(*inspector)
}

// listens gives the addresses at which a process listens.
func listens(t *testing.T, pid int) []string {
	t.Helper()
	all, err := listening(pid)
	fatal.If(t, err)
	return all
}

// untilListening waits until a process listens on these addresses, and no other.
func untilListening(t *testing.T, pid int, want []string) {
	t.Helper()
	process.Until(t, fmt.Sprintf("it listens on %v", want), func() bool {
		return slices.Equal(listens(t, pid), want)
	})
}

// What one whittle opened stays open for another one, though the first one died,
// and closes with the last.
func TestNodeWithTwoWhittles(t *testing.T) {
	pid, base := node(t)
	busy(t, request("POST", base+"/Count"))
	before := listens(t, pid)
	var both [2]*inspector
	for n := range both {
		both[n] = opens(t, pid)
	}
	during := listens(t, pid)
	if len(during) != len(before)+1 {
		t.Fatalf("it listens on %v", during)
	}
	both[0].lease.line.Close() // what its death does
	both[0].conn.CloseNow()
	if p, err := both[1].Take(t.Context(), profile.CPU, window()); err != nil || p.Total() == 0 {
		t.Errorf("the second one saw nothing: %v", err)
	}
	untilListening(t, pid, during)
	fatal.If(t, both[1].Close(t.Context()))
	untilListening(t, pid, before)
}

func TestNodeWithItsInspectorOpen(t *testing.T) {
	pid, base := node(t, "--inspect=127.0.0.1:0")
	busy(t, request("POST", base+"/Count"))
	var inspector string
	for _, a := range listens(t, pid) {
		if "http://"+a != base {
			inspector = "http://" + a
		}
	}
	for _, target := range []string{strconv.Itoa(pid), inspector} { // it stays open
		fatal.Same(t, endpoints(take(t, target, profile.CPU).Profile), []string{"POST /Count"}, "%s: endpoints", target)
	}
	s, err := Open(t.Context(), inspector)
	fatal.If(t, err)
	defer s.Close(t.Context())
	ctx, cancel := context.WithCancel(t.Context())
	cancelled := time.AfterFunc(2*time.Second, cancel) // it has begun by then, however busy the machine is
	defer cancelled.Stop()
	if p, err := s.Take(ctx, profile.CPU, time.Hour); err != nil || p.Total() == 0 {
		t.Errorf("ended early: %v", err)
	}
	_, err = s.Take(t.Context(), profile.Mutex, time.Second)
	whittletest.Refused(t, err, whittle.Unsupported, "Node's locks")
}

// One that somebody opened by hand is found, and left as it was.
func TestNodeWhoseInspectorWasOpenedBySignal(t *testing.T) {
	pid, base := node(t, "--inspect-port=127.0.0.1:0")
	busy(t, request("POST", base+"/Count"))
	closed := listens(t, pid)
	fatal.If(t, syscall.Kill(pid, syscall.SIGUSR1))
	before := closed
	process.Until(t, "its inspector is open", func() bool {
		before = listens(t, pid)
		return len(before) != len(closed)
	})
	if p := take(t, strconv.Itoa(pid), profile.CPU); p.Total() == 0 {
		t.Error("nothing was seen")
	}
	fatal.Same(t, before, listens(t, pid), "where it listened before and after")
}

// Who comes as another whittle closes what it had opened opens it again.
func TestNodeWhoseInspectorClosesMeanwhile(t *testing.T) {
	pid, _ := node(t)
	closed := listens(t, pid)
	other := opens(t, pid)
	before := listens(t, pid)
	fatal.If(t, other.Close(t.Context()))
	i, err := opened(t.Context(), pid, before, false)
	fatal.If(t, err)
	fatal.If(t, i.Close(t.Context()))
	untilListening(t, pid, closed)
}

// Locate finds a process by the URL that its users know.
func TestLocate(t *testing.T) {
	pid, base := node(t, "--inspect-port=127.0.0.1:0")
	if got, err := Locate(t.Context(), base+"/some/path"); err != nil || !slices.Equal(got, []string{strconv.Itoa(pid)}) {
		t.Errorf("%v, %v, want %d", got, err, pid)
	}
	admin := goService(t)
	if got, err := Locate(t.Context(), admin); err != nil || !slices.Equal(got, []string{admin}) {
		t.Errorf("%v, %v, want %s", got, err, admin)
	}
	for at, code := range map[string]whittle.Code{"http://127.0.0.1:1": whittle.NotFound, "somewhere": whittle.Invalid, "ftp://127.0.0.1": whittle.Invalid} {
		if _, err := Locate(t.Context(), at); whittle.CodeOf(err) != code {
			t.Errorf("%s: %v", at, err)
		}
	}
}

// What is joined is one file for go tool pprof, of all parts' samples.
func TestJoinKeepsEveryWindow(t *testing.T) {
	admin := goService(t)
	busy(t, func(context.Context) error { sink += len(strconv.Itoa(sink)); return nil })
	first, second := take(t, admin, profile.CPU), take(t, admin, profile.CPU)
	joined, err := Join([]*Collected{first, second})
	fatal.If(t, err)
	again, err := profile.Read(joined.Raw, profile.CPU)
	want := first.Total() + second.Total()
	if err != nil || joined.Total() != want || again.Total() != want || joined.Ext != ".pb.gz" {
		t.Errorf("%d, read back %d, want %d: %v", joined.Total(), again.Total(), want, err)
	}
	first.Raw = []byte("not a profile")
	_, err = Join([]*Collected{first, second})
	whittletest.Refused(t, err, whittle.Invalid, "a broken part")
	if one, err := Join([]*Collected{second}); one != second || err != nil {
		t.Error("one part is itself")
	}
}

// goService is a Go service in this process, with pprof on a port of its own.
func goService(t *testing.T) (admin string) {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	return serves(t, mux.ServeHTTP)
}

// serves is a server that ends with the test, as do the connections to it.
func serves(t *testing.T, response http.HandlerFunc) (url string) {
	t.Helper()
	srv := httptest.NewServer(response)
	t.Cleanup(srv.Close)
	t.Cleanup(client.CloseIdleConnections)
	return srv.URL
}

func TestGo(t *testing.T) {
	admin := goService(t)
	t.Run("busy", func(t *testing.T) {
		busy(t, func(ctx context.Context) error {
			rpprof.Do(ctx, rpprof.Labels(profile.EndpointLabel, "GET /hash"), func(context.Context) {
				for i := range 200_000 {
					sink += len(strconv.Itoa(i))
				}
			})
			return nil
		})
		for _, target := range []string{admin, admin + "/debug/pprof/profile?seconds=30"} {
			p := take(t, target, profile.CPU)
			fatal.Same(t, endpoints(p.Profile), []string{"GET /hash"}, "%s: endpoints", target)
			if p.Ext != ".pb.gz" || len(p.Raw) == 0 || p.Duration < 500*time.Millisecond {
				t.Errorf("file %q, duration %s", p.Ext, p.Duration)
			}
		}
	})
	for _, kind := range []profile.Kind{profile.Allocations, profile.Mutex} {
		if p := take(t, admin, kind); p.Kind != kind {
			t.Errorf("%s came as %s", kind, p.Kind)
		}
	}
}

var sink int

func TestWhatCannotBeProfiled(t *testing.T) {
	for _, c := range []struct {
		target string
		code   whittle.Code
	}{
		{"shop.pb.gz.missing", whittle.Invalid},
		{"ftp://127.0.0.1:1", whittle.Invalid},
		{serves(t, http.NotFound), whittle.Unavailable},
		{strconv.Itoa(os.Getpid()), whittle.Invalid}, // a Go process: SIGUSR1 would end it
		{"2147483647", whittle.NotFound},
	} {
		_, err := Open(t.Context(), c.target)
		fatal.Same(t, whittle.CodeOf(err), c.code, "%s: %v", c.target, err)
	}
	if _, err := Open(t.Context(), "testdata/server.js"); err == nil || !strings.Contains(err.Error(), "a saved profile") {
		t.Errorf("a file: %v", err)
	}
}

func TestExposed(t *testing.T) {
	for _, c := range []struct {
		address string
		exposed bool
	}{{"127.0.0.1:0", false}, {"0.0.0.0:0", true}, {"[::]:0", true}} {
		l, err := net.Listen("tcp", c.address)
		if err != nil {
			t.Logf("%s: %v", c.address, err)
			continue
		}
		target := fmt.Sprintf("http://127.0.0.1:%d", l.Addr().(*net.TCPAddr).Port)
		fatal.Same(t, Exposed(target), c.exposed, "%s: exposed", c.address)
		l.Close()
	}
	if !Exposed("http://192.0.2.7:6060") || !Exposed("https://shop.example/debug/pprof") {
		t.Error("a host that is not this one is reached from outside")
	}
}

// A service that gives paths to pprof's index and profile alone is one, by its index.
func TestAnIndexAloneIsPprof(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	if _, err := Open(t.Context(), serves(t, mux.ServeHTTP)); err != nil {
		t.Error(err)
	}
}

// What only looks like pprof, because it has a page for every path, is said to be
// something else before a profile is waited for.
func TestAPageForEveryPathIsNoPprof(t *testing.T) {
	for name, body := range map[string]string{"an application of one page": "<!doctype html><title>Shop</title>", "an API": `{"error":"not found"}`} {
		_, err := Open(t.Context(), serves(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }))
		if err == nil || !strings.Contains(err.Error(), "no pprof there") || !strings.Contains(err.Error(), "a page of something else") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
