package front

import (
	"bytes"
	"compress/gzip"
	"log/slog"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"whittle"
	"whittle/internal/fatal"
	"whittle/systems/ingest/deadletter"
	"whittle/systems/ingest/stream"
)

// serveDead is a front that keeps dead letters, and where they are.
func serveDead(t *testing.T, change func(*Options)) (*testFront, *double) {
	t.Helper()
	dead := newDouble()
	return serve(t, func(o *Options) {
		o.Dead = dead
		if change != nil {
			change(o)
		}
	}), dead
}

func letters(t *testing.T, dead *double) (all []deadletter.Letter) {
	t.Helper()
	for _, r := range dead.records() {
		l, err := deadletter.Read(&r)
		fatal.If(t, err)
		all = append(all, l)
	}
	return all
}

func gzipOf(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return b.String()
}

// TestRejectedEventsAreDeadLetters: each rejected event of a batch can be sent
// again by itself, with what its batch gave it.
func TestRejectedEventsAreDeadLetters(t *testing.T) {
	s, dead := serveDead(t, nil)
	body := `{"writeKey":"k","context":{"app":1},"batch":[` + eventOf("a") + `,{"type":"track","userId":"u","x":NaN},` + eventOf("b") + `,7],"sentAt":"2026-03-01T12:00:09Z"}`
	a := s.post("/v1/batch", body)
	if a.code != 400 || a.Accepted != 2 || a.Rejected != 2 || len(a.Results) != 4 {
		t.Fatalf("%d %s", a.code, a.text)
	}
	all := letters(t, dead)
	if n := testutil.ToFloat64(s.front.metrics.deadLetters.WithLabelValues(anySource)); len(all) != 2 || n != 2 {
		t.Fatalf("%v are counted of %+v", n, all)
	}
	for i, at := range []int{1, 3} {
		r, l := a.Results[at], all[i]
		if r.Index != at || r.DeadLetter != strconv.Itoa(i) || r.Reason == "" || l.Index != at || l.Whole || l.Offset != r.Offset || l.Reason != r.Reason || l.Path != "/v1/batch" {
			t.Errorf("%+v, %+v", r, l)
		}
	}
	if !strings.HasPrefix(body[a.Results[1].Offset:], "NaN}") || !strings.HasPrefix(body[a.Results[3].Offset:], "7]") {
		t.Errorf("wrong places: %s", a.text)
	}
	mended := strings.Replace(string(all[0].Body), "NaN", "null", 1)
	again := s.post(all[0].Path, mended, "Content-Type: "+all[0].ContentType)
	if again.code != 200 || again.Accepted != 1 {
		t.Fatalf("%s: %d %s", mended, again.code, again.text)
	}
	got := string(s.stream.records()[2].Value)
	fatal.Has(t, got, `"app":1`, `"x":null`, `"sentAt":"2026-03-01T12:00:09Z"`)
}

// TestALargeContextIsNotKeptThousandsOfTimes bounds what one body makes of dead letters.
func TestALargeContextIsNotKeptThousandsOfTimes(t *testing.T) {
	for _, size := range []int{100, 10 << 10, 400 << 10} {
		s, dead := serveDead(t, nil)
		body := `{"context":{"x":"` + strings.Repeat("x", size) + `"},"batch":[` + strings.Repeat("1,", 2000) + `1]}`
		if a := s.post("/v1/batch", body); a.code != 400 || a.Rejected != 2001 {
			t.Fatalf("%d %.300s", a.code, a.text)
		}
		total := 0
		for _, l := range letters(t, dead) {
			total += len(l.Body)
		}
		if n := len(dead.records()); n != 2001 || total > 3*len(body)+2001*20+maxShared {
			t.Errorf("%d letters with %d bytes of a body of %d", n, total, len(body))
		}
	}
}

// TestWhoMayNotSendLeavesNoLetter: without a write key of the list nothing is
// kept, and one inside a body that cannot be read is none.
func TestWhoMayNotSendLeavesNoLetter(t *testing.T) {
	keys, err := ReadKeys(keysFile(t, "k1\n"))
	fatal.If(t, err)
	s, dead := serveDead(t, func(o *Options) { o.Keys = keys })
	for _, body := range []string{`{`, `{"writeKey":"k1","x":NaN}`, `{"batch":[1],"writeKey":"k2"}`, `{"batch":[NaN]}`} {
		if a := s.post("/v1/batch", body); a.code != 400 && a.code != 401 || a.DeadLetter != "" {
			t.Errorf("%s: %d %s", body, a.code, a.text)
		}
	}
	fatal.Same(t, len(dead.records()), 0, "letters")
	s.post("/v1/batch", `{"batch":[1],"writeKey":"k1"}`)
	fatal.Same(t, len(dead.records()), 1, "letters")
	if a := s.post("/v1/track", "{", "Authorization: Bearer k1"); a.DeadLetter != "1" {
		t.Errorf("%s", a.text)
	}
	for _, l := range letters(t, dead) {
		if l.Source == unknownSource || l.Source == anySource || l.Source == "" {
			t.Errorf("the source is %q", l.Source)
		}
	}
}

// TestAFullDeadLetterLog: what cannot be kept is counted, and the client is told
// the same.
func TestAFullDeadLetterLog(t *testing.T) {
	registry := prometheus.NewRegistry()
	var log bytes.Buffer
	s, dead := serveDead(t, func(o *Options) {
		o.Metrics, o.Log = registry, slog.New(slog.NewTextHandler(&log, nil))
	})
	dead.fate = func(int, *stream.Record) error { return fails(whittle.ResourceExhausted) }
	if a := s.post("/v1/track", "{"); a.code != 400 || a.DeadLetter != "" || a.Status != "rejected" {
		t.Errorf("%d %s", a.code, a.text)
	}
	if a := s.post("/v1/batch", batchOf(eventOf("a"), "7")); a.code != 400 || a.Accepted != 1 || a.Rejected != 1 || a.Results[1].DeadLetter != "" {
		t.Errorf("%d %s", a.code, a.text)
	}
	fatal.Same(t, testutil.ToFloat64(s.front.metrics.lostLetters), 2, "lost letters are counted")
	fatal.Has(t, log.String(), "events were rejected", "source=any", "endpoint=/v1/track", "could not be kept")
}
