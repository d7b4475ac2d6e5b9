package smell_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	_ "net/http/pprof"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"whittle/internal/fatal"
	"whittle/internal/needs"
	"whittle/profile"
	"whittle/profile/collect"
	"whittle/profile/smell"
)

// serviceEnv makes the test's binary one of the corpus's services: each runs in
// a process of its own, since a process has one CPU profile at a time.
const serviceEnv = "WHITTLE_SMELL_SERVICE"

func TestMain(m *testing.M) {
	if name := os.Getenv(serviceEnv); name != "" {
		if err := serveService(name); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	flag.Parse()
	if testing.Short() { // more services share the processors, each for as long: less of each is profiled
		if err := flag.Set("test.parallel", strconv.Itoa(3*runtime.GOMAXPROCS(0))); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// serveService serves until its standard input ends.
func serveService(name string) error {
	start, ok := faults[name]
	if !ok {
		start, ok = cleans[name]
	}
	if !ok {
		return fmt.Errorf("no service %q", name)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	runtime.SetMutexProfileFraction(5)
	mux := http.NewServeMux()
	mux.Handle("/debug/", http.DefaultServeMux)
	mux.Handle("/", start())
	fmt.Println(l.Addr())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		l.Close()
	}()
	http.Serve(l, mux)
	return nil
}

// process starts a service that says its address, and ends it with the test.
func process(t *testing.T, cmd *exec.Cmd) (base string) {
	t.Helper()
	in, err := cmd.StdinPipe()
	fatal.If(t, err)
	out, err := cmd.StdoutPipe()
	fatal.If(t, err)
	fatal.If(t, cmd.Start())
	read := bufio.NewReader(out)
	line, err := read.ReadString('\n')
	var drained sync.WaitGroup
	drained.Go(func() { io.Copy(io.Discard, read) })
	t.Cleanup(func() {
		in.Close()
		drained.Wait()
		cmd.Wait()
	})
	if err != nil {
		t.Fatalf("%v did not start: %v", cmd.Args, err)
	}
	return "http://" + strings.TrimSpace(line)
}

// busy keeps a service under load until the test ends.
func busy(t *testing.T, base string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for ctx.Err() == nil {
				r, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/work", strings.NewReader(`{"name":"Ada","times":[3,1,2]}`))
				if err != nil {
					t.Error(err)
					return
				}
				resp, err := client.Do(r)
				if err != nil {
					if ctx.Err() == nil {
						t.Errorf("request: %v", err)
					}
					return
				}
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				if resp.StatusCode != http.StatusOK {
					t.Errorf("status %s", resp.Status)
					return
				}
			}
		})
	}
	t.Cleanup(func() {
		cancel()
		wg.Wait()
		client.CloseIdleConnections()
	})
}

func read(t *testing.T, page string, kind profile.Kind) *profile.Profile {
	t.Helper()
	resp, err := http.Get(page)
	fatal.If(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", page, resp.Status, err)
	}
	p, err := profile.Read(b, kind)
	fatal.If(t, err)
	if used, err := strconv.Atoi(resp.Header.Get("X-Cpu-Us")); err == nil {
		p.CapTotal(time.Duration(used) * time.Microsecond)
	}
	return p
}

// goProfiles takes what whittle profile takes of a Go service: for long, where something is a
// matter of how much, so that a busy machine has enough samples too.
func goProfiles(t *testing.T, base string, long bool) []*profile.Profile {
	t.Helper()
	during := "?seconds=1"
	if long {
		during = "?seconds=2"
	}
	var allocations, mutex *profile.Profile
	var wg sync.WaitGroup
	wg.Go(func() { allocations = read(t, base+"/debug/pprof/allocs"+during, profile.Allocations) })
	wg.Go(func() { mutex = read(t, base+"/debug/pprof/mutex"+during, profile.Mutex) })
	cpu := read(t, base+"/debug/pprof/profile"+during, profile.CPU)
	wg.Wait()
	return []*profile.Profile{cpu, allocations, mutex}
}

// nodeProfiles takes what whittle profile takes of a Node service, in a second of its CPU
// time, or in a third of one in a short run.
// Not for long, it is so much as names a fault that is most of a service's: a profile that is too
// short to name it is followed by another.
func nodeProfiles(t *testing.T, base string, long bool) []*profile.Profile {
	t.Helper()
	ms := 150
	switch {
	case long && testing.Short():
		ms = 350
	case long:
		ms = 1000
	}
	p := read(t, fmt.Sprintf("%s/profile?ms=%d", base, ms), profile.CPU)
	collect.ReadSources(p)
	return []*profile.Profile{p}
}

// within is in how many profiles a fault may stay unnamed, and a clean service have too few
// samples to be judged.
const within = 30

// take takes the profiles of a service.
type take func(t *testing.T, base string, long bool) []*profile.Profile

// named profiles until the fault is named at the marked line of its file.
func named(t *testing.T, base, want, file string, take take) {
	t.Helper()
	busy(t, base)
	place := fmt.Sprintf("%s:%d", filepath.Base(file), marked(t, file, t.Name()[strings.LastIndexByte(t.Name(), '/')+1:]))
	var last []smell.Smell
	for range within {
		last = smell.Find(take(t, base, want == "event-loop-blocked" || want == "gc-pressure")) // which are a matter of how much
		for _, s := range last {
			if s.Name == want && strings.HasSuffix(s.Where(), place) {
				if others := at(last, s.Where()); len(others) > 1 && want != "event-loop-blocked" {
					t.Errorf("one mistake, named as %q", others)
				}
				if s.Advice == "" || s.Evidence == "" || s.Share <= 0 {
					t.Errorf("%+v: without evidence or advice", s)
				}
				return
			}
		}
	}
	t.Errorf("%s at %s was not named, but %+v", want, place, last)
}

// at gives the names of what was found at a place, but for blocking, which the rest brings about.
func at(all []smell.Smell, where string) (names []string) {
	for _, s := range all {
		if s.Where() == where && s.Name != "event-loop-blocked" {
			names = append(names, s.Name)
		}
	}
	return names
}

// marked gives the line that ends in the comment "smell: NAME", or several names.
func marked(t *testing.T, file, name string) int {
	t.Helper()
	for i, line := range strings.Split(fatal.Read(t, file), "\n") {
		if _, names, ok := strings.Cut(line, "// smell: "); ok && slices.Contains(strings.Split(names, ", "), name) {
			return i + 1
		}
	}
	t.Fatalf("%s: no line is marked %q", file, name)
	return 0
}

// enough is the fewest samples that a clean service is judged by.
const enough = 30

func silent(t *testing.T, base string, take take, long bool) {
	t.Helper()
	busy(t, base)
	seen := int64(0)
	for range within {
		all := take(t, base, long)
		seen += samples(all[0])
		for _, s := range smell.Find(all) {
			t.Errorf("false alarm: %s at %s: %s", s.Name, s.Where(), s.Evidence)
		}
		if t.Failed() || seen >= enough {
			return
		}
	}
	t.Errorf("fewer than %d samples in %d profiles", enough, within)
}

func samples(p *profile.Profile) (n int64) {
	for i := range p.Samples {
		if p.CategoryOf(&p.Samples[i]) != profile.Idle {
			n += max(p.Samples[i].Objects, 1)
		}
	}
	return n
}

func goService(t *testing.T, name string) string {
	t.Helper()
	self, err := os.Executable()
	fatal.If(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), serviceEnv+"="+name, "GODEBUG=randseednop=0") // Seed has had no effect since Go 1.24
	return process(t, cmd)
}

// TestFaultsOfGoAreNamed: a short run has one form of each.
func TestFaultsOfGoAreNamed(t *testing.T) {
	for name := range faults {
		if testing.Short() && strings.Contains(name, "_") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, _, _ := strings.Cut(name, "_")
			named(t, goService(t, name), want, "faults_test.go", goProfiles)
		})
	}
}

func TestCleanServicesOfGoRaiseNothing(t *testing.T) {
	for _, name := range half(slices.Sorted(maps.Keys(cleans))) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			silent(t, goService(t, name), goProfiles, name == "csv") // of the sound services the one that makes most garbage
		})
	}
}

// half is every other one in a short run.
func half(all []string) (some []string) {
	for i, one := range all {
		if !testing.Short() || i%2 == 0 {
			some = append(some, one)
		}
	}
	return some
}

func nodeService(t *testing.T, file string) string {
	t.Helper()
	node := needs.Node(t)
	absolute, err := filepath.Abs(file)
	fatal.If(t, err)
	return process(t, exec.Command(node, "testdata/node/serve.js", absolute))
}

func scripts(t *testing.T, folder string) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/node/" + folder + "/*.js")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts in %s: %v", folder, err)
	}
	return files
}

func TestFaultsOfNodeAreNamed(t *testing.T) {
	for _, file := range scripts(t, "fault") {
		name := strings.TrimSuffix(filepath.Base(file), ".js")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, _, _ := strings.Cut(name, "_")
			named(t, nodeService(t, file), want, file, nodeProfiles)
		})
	}
}

func TestCleanServicesOfNodeRaiseNothing(t *testing.T) {
	for _, file := range half(scripts(t, "clean")) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".js"), func(t *testing.T) {
			t.Parallel()
			silent(t, nodeService(t, file), nodeProfiles, true)
		})
	}
}
