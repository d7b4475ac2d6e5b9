package process

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"whittle/internal/fatal"
)

// Until waits for what another process or goroutine brings about, or fails the test.
func Until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	Await(t, what, func() (bool, string) { return holds(), "" })
}

// Await is Until of what says how far it has come. It rests between two looks for twice as long
// as one takes, and for some milliseconds at least: a look costs the test and what it looks at.
func Await(t testing.TB, what string, holds func() (bool, string)) {
	t.Helper()
	for deadline := time.Now().Add(Patience); ; {
		began := time.Now()
		ok, said := holds()
		switch {
		case ok:
			return
		case time.Now().After(deadline):
			t.Fatalf("it did not come about in %v: %s %s", Patience, what, said)
		}
		time.Sleep(max(20*time.Millisecond, 2*time.Since(began)))
	}
}

// Ask makes a request over a connection of its own, with header lines "Name: value", where Host
// is the one that is asked for, and gives the response and all of its body.
func Ask(t testing.TB, method, url, body string, lines ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	fatal.If(t, err)
	for _, line := range lines {
		if name, value, _ := strings.Cut(line, ": "); value != "" {
			r.Header.Add(name, value)
		}
	}
	r.Host = cmp.Or(r.Header.Get("Host"), r.Host)
	resp, err := alone.RoundTrip(r)
	fatal.If(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	fatal.If(t, err)
	return resp, string(text)
}

// alone leaves no connection behind.
var alone = &http.Transport{DisableKeepAlives: true}

// Metrics are the figures at an admin address, all of one moment, by name and labels as
// they stand there; none where nobody responds.
func Metrics(admin string) map[string]float64 {
	client := http.Client{Transport: alone, Timeout: Patience}
	r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://"+admin+"/metrics", nil)
	if err != nil {
		return nil
	}
	resp, err := client.Do(r)
	if err != nil {
		return nil
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil
	}
	all := map[string]float64{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		i := strings.LastIndexByte(line, ' ')
		if v, err := strconv.ParseFloat(line[i+1:], 64); err == nil && i > 0 && line[0] != '#' {
			all[line[:i]] = v
		}
	}
	return all
}
