package replay

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"whittle"
	"whittle/internal/fatal"
	"whittle/internal/needs"
	"whittle/internal/rawtest"
	"whittle/record/capture"
	"whittle/whittletest"
)

// TestOrderIsKeptPerConnection has twenty clients whose requests come in turn,
// each after the response to its last, and a log that has them as they ended.
func TestOrderIsKeptPerConnection(t *testing.T) {
	const clients, each = 20, 30
	log := made{clients * each, func(i int) *capture.Entry {
		e := get(i, fmt.Sprintf("/turn?client=%d&turn=%d", i%clients, i/clients), `{}`)
		e.Conn = uint64(i%clients + 1)
		e.Request.Header = whittle.Header{"X-User": {strconv.Itoa(i % clients)}}
		return e
	}}
	for _, text := range []string{"connection", "header:x-user"} {
		key, err := ParseKey(text)
		fatal.If(t, err)
		var mu sync.Mutex
		next, under, wrong := map[string]int{}, map[string]int{}, 0
		url := serve(t, func(r *http.Request) string {
			client := r.URL.Query().Get("client")
			mu.Lock()
			if turn, _ := strconv.Atoi(r.URL.Query().Get("turn")); turn != next[client] || under[client] > 0 {
				wrong++
			}
			next[client]++
			under[client]++
			mu.Unlock()
			runtime.Gosched()
			mu.Lock()
			under[client]--
			mu.Unlock()
			return `{}`
		})
		r := run(t, log, Options{Against: url, Connections: 8, Key: key})
		if wrong > 0 || r.Ledger.Compared != clients*each {
			t.Errorf("%s: %d requests came out of turn, %+v", text, wrong, r.Ledger)
		}
	}
}

// TestThePaceIsKept looks at what was planned, not at how well this machine
// kept to it.
func TestThePaceIsKept(t *testing.T) {
	var mu sync.Mutex
	var came []time.Time
	url := serve(t, func(*http.Request) string {
		mu.Lock()
		defer mu.Unlock()
		came = append(came, time.Now())
		return `{}`
	})
	log := made{21, func(i int) *capture.Entry { return get(i*100, "/", `{}`) }} // 2 s
	begun := time.Now()
	r := run(t, log, Options{Against: url, Speed: 10})
	// From before the run, since the first may come late by itself.
	if span := came[20].Sub(begun); span < 200*time.Millisecond {
		t.Errorf("2 s at ten times the pace took %s", span)
	}
	if r.RecordedSeconds != 2 || r.Schedule.Late.Count != 21 || r.Latency.Intended.Count != 21 || r.Schedule.Own.Count == 0 {
		t.Errorf("schedule %+v", r.Schedule)
	}
	if r.Latency.Intended.Max < r.Latency.Now.Max {
		t.Error("latency from the intended time is shorter than from the real one")
	}
}

// TestHostileTargets replays against servers that do all that hurts.
func TestHostileTargets(t *testing.T) {
	url := rawtest.Serve(t, func(c net.Conn, _ int) { misbehave(c) })
	list := []*capture.Entry{}
	for i, path := range []string{"/hang", "/reset", "/huge", "/drip", "/nonsense", "/endless"} {
		e := get(i, path, `{}`)
		e.Conn = uint64(i + 1)
		list = append(list, e)
	}
	r := run(t, kept(list...), Options{Against: url, Timeout: 300 * time.Millisecond, MaxResponse: 1 << 20})
	if r.Ledger.Failed != 6 || r.Differing == 0 || whittle.CodeOf(r.Err(nil)) != whittle.Unavailable {
		t.Errorf("got %+v: %v", r.Ledger, r.Err(nil))
	}
}

func misbehave(c net.Conn) {
	q, err := http.ReadRequest(bufio.NewReader(c))
	if err != nil {
		return
	}
	const head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	switch q.URL.Path {
	case "/hang":
		_, _ = io.Copy(io.Discard, c)
	case "/huge":
		fmt.Fprint(c, head+"Content-Length: 100000000000\r\n\r\n{")
	case "/drip":
		fmt.Fprint(c, head+"Content-Length: 1000\r\n\r\n")
		for range 1000 {
			if _, err := c.Write([]byte("x")); err != nil {
				return
			}
			time.Sleep(20 * time.Millisecond) // what a slow drip is
		}
	case "/nonsense":
		fmt.Fprint(c, "SSH-2.0-OpenSSH\r\n\r\n")
	case "/endless":
		fmt.Fprint(c, head+"Transfer-Encoding: chunked\r\n\r\n")
		for {
			if _, err := fmt.Fprintf(c, "%x\r\n%s\r\n", 64<<10, strings.Repeat("y", 64<<10)); err != nil {
				return
			}
		}
	}
}

func TestAnInterruptedReplayReportsWhatIsKnown(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var n atomic.Int64
	url := serve(t, func(r *http.Request) string {
		if n.Add(1) == 100 {
			cancel()
		}
		return `{}`
	})
	log := made{50_000, func(i int) *capture.Entry { return get(i, "/", `{}`) }}
	r, err := Run(ctx, log, Options{Against: url, Key: Key{unordered: true}})
	fatal.If(t, err)
	if !r.Interrupted || r.Ledger.Sum() != 50_000 || r.Ledger.Total != 50_000 || r.Ledger.Compared < 50 || r.Ledger.Compared > 200 {
		t.Errorf("interrupted %v, %+v", r.Interrupted, r.Ledger)
	}
	cancel()
	_, err = Run(ctx, log, Options{Against: url})
	whittletest.Refused(t, err, whittle.Canceled, "before it began")
}

// TestMemoryStaysFlat replays 20,000 exchanges of a journal whose bodies come
// to many times what may be held.
func TestMemoryStaysFlat(t *testing.T) {
	needs.Asked(t, !testing.Short() && !raced, "it sends 20,000 requests, and runs neither with -short nor with -race")
	const n = 20_000
	body := `{"text":"` + strings.Repeat("x", 8<<10) + `"}`
	dir := written(t, made{n, func(i int) *capture.Entry {
		e := get(i, "/p?i="+strconv.Itoa(i%100), body)
		e.Conn = uint64(i % 5000)
		return e
	}}, nil)
	log, err := OpenLog(dir)
	fatal.If(t, err)
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	url := serve(t, func(*http.Request) string { return body })
	before, most, looks := heap(), uint64(0), int64(0)
	r := run(t, log, Options{Against: url, OnProgress: func(p Progress) {
		if p.Done > looks*n/10 {
			looks++
			most = max(most, heap())
		}
	}})
	if r.Ledger.Compared != n || looks < 2 {
		t.Errorf("ledger %+v, the heap was looked at %d times", r.Ledger, looks)
	}
	if grown := int64(most) - int64(before); grown > 28<<20 {
		t.Errorf("the heap grew by %d MiB while 160 MiB of bodies went by", grown>>20)
	} else {
		t.Logf("the heap grew by at most %d KiB, looked at %d times; %.0f requests a second", grown>>10, looks, r.Schedule.PerSecond)
	}
}
