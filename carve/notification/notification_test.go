package notification

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"whittle"
	"whittle/internal/fatal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const token = "T0SECRET"

func redact(s string) string { return strings.ReplaceAll(s, "hunter2", "redacted") }

// inbox is a receiver that keeps what it gets.
type inbox struct {
	*httptest.Server
	got chan string

	mu     sync.Mutex // guards the following
	status []int      // of the next responses; then 200
}

func newInbox(t *testing.T, status ...int) *inbox {
	in := &inbox{got: make(chan string, 1000), status: status}
	in.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		in.got <- r.Header.Get("X-Whittle-Delivery") + " " + string(b)
		in.mu.Lock()
		defer in.mu.Unlock()
		if len(in.status) > 0 {
			w.WriteHeader(in.status[0])
			in.status = in.status[1:]
		}
	}))
	t.Cleanup(in.Close)
	return in
}

func (in *inbox) next(t *testing.T) (delivery, body string) {
	t.Helper()
	select {
	case s := <-in.got:
		delivery, body, _ = strings.Cut(s, " ")
		return delivery, body
	case <-time.After(20 * time.Second):
		t.Fatal("nothing came")
	}
	return "", ""
}

func to(in *inbox, change ...func(*whittle.Notice)) whittle.Notice {
	n := whittle.Notice{Name: "ops", Hook: whittle.Hook{URL: in.URL + "/" + token, Timeout: 10 * time.Second}}
	for _, c := range change {
		c(&n)
	}
	return n
}

func event(kind whittle.EventKind) whittle.Event {
	return whittle.Event{
		Kind: kind, Route: "POST /Count", At: time.Unix(1_800_000_000, 0), From: 100, To: 0, Phase: whittle.PhaseRolledBack,
		Reason: "Rolled back by hand: password hunter2 <!channel> & *x*.", By: "ann hunter2", Generation: 7, Verdict: whittle.Different,
	}
}

// TestForms: JSON with all fields, Slack's with its signs escaped, both redacted.
func TestForms(t *testing.T) {
	plain, slackIn := newInbox(t), newInbox(t)
	s := New(redact, slog.New(slog.DiscardHandler))
	s.Put([]whittle.Notice{to(plain), to(slackIn, func(n *whittle.Notice) { n.Name, n.Slack = "chat", true })})
	s.Tell(event(whittle.EventRollback))
	s.Close(20 * time.Second)
	_, body := plain.next(t)
	var m Message
	d := json.NewDecoder(strings.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&m); err != nil || m.Version != 1 || m.Event != "rollback" || m.From != 100 || m.To != 0 || m.By != "ann redacted" || m.Generation != 7 || m.Verdict != whittle.Different ||
		m.Text != "POST /Count: rolled back 1 % → 0 %. Rolled back by hand: password redacted <!channel> & *x*. (ann redacted)" {
		t.Errorf("%v %s", err, body)
	}
	_, body = slackIn.next(t)
	var w struct{ Text string }
	if err := json.Unmarshal([]byte(body), &w); err != nil || !strings.HasPrefix(w.Text, ":rotating_light: *POST /Count*: rolled back 1 % → 0 %\n") ||
		strings.Contains(body, "hunter2") || strings.Contains(w.Text, "<!") || !strings.Contains(w.Text, "&lt;!channel&gt; &amp;") {
		t.Errorf("%v %s", err, body)
	}
	long := event(whittle.EventVerdict)
	long.Reason = strings.Repeat("é<", 5000)
	if n := len([]rune(slackText(&long))); n > 3000 {
		t.Errorf("%d characters", n)
	}
}

// TestChosenEventsAndRoutes: who is told of what.
func TestChosenEventsAndRoutes(t *testing.T) {
	in := newInbox(t)
	s := New(nil, slog.New(slog.DiscardHandler))
	s.Put([]whittle.Notice{to(in, func(n *whittle.Notice) {
		n.Events, n.Routes = []whittle.EventKind{whittle.EventTrip, whittle.EventRise}, []string{"POST /Count"}
	})})
	for _, kind := range whittle.EventKinds {
		s.Tell(event(kind))
		other := event(kind)
		other.Route = "GET /other"
		s.Tell(other)
	}
	s.Close(20 * time.Second)
	close(in.got)
	var got []string
	for g := range in.got {
		var m Message
		_, body, _ := strings.Cut(g, " ")
		fatal.If(t, json.Unmarshal([]byte(body), &m))
		got = append(got, string(m.Event)+" "+m.Route)
	}
	fatal.Same(t, strings.Join(got, ", "), "rise POST /Count, trip POST /Count", "delivered")
}

// TestRetries: what may be another response later is tried again under the same delivery;
// what will not is not, and the log has the name and never the URL.
func TestRetries(t *testing.T) {
	for _, tt := range []struct {
		status []int
		calls  int
		fate   string
	}{
		{nil, 1, "sent"},
		{[]int{204}, 1, "sent"},
		{[]int{503, 429}, 3, "sent"},
		{[]int{404}, 1, "failed"},
		{[]int{400}, 1, "failed"},
		{[]int{302}, 1, "failed"},
	} {
		t.Run(fmt.Sprint(tt.status), func(t *testing.T) {
			t.Parallel()
			in := newInbox(t, tt.status...)
			var log bytes.Buffer
			s := New(redact, slog.New(slog.NewTextHandler(&log, nil)))
			s.Put([]whittle.Notice{to(in)})
			s.Tell(event(whittle.EventRise))
			first, _ := in.next(t)
			for range tt.calls - 1 {
				if again, _ := in.next(t); again != first {
					t.Errorf("another delivery")
				}
			}
			s.Close(20 * time.Second)
			c := s.counts["ops"]
			if got := map[string]int64{"sent": c.sent.Load(), "failed": c.failed.Load(), "dropped": c.dropped.Load()}; got[tt.fate] != 1 || len(in.got) != 0 {
				t.Errorf("%v, and %d more", got, len(in.got))
			}
			if strings.Contains(log.String(), token) || strings.Contains(log.String(), in.URL) || (tt.fate == "failed") != strings.Contains(log.String(), "notify=ops") {
				t.Errorf("log %s", log.String())
			}
		})
	}
}

// TestAReceiverThatHangs: nobody waits for it, its queue is bounded, the other one is
// told all the same, and the end comes in time.
func TestAReceiverThatHangs(t *testing.T) {
	began := make(chan struct{}, 1)
	hung := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case began <- struct{}{}:
		default:
		}
		<-r.Context().Done()
	}))
	defer hung.Close()
	in := newInbox(t)
	s := New(nil, slog.New(slog.DiscardHandler))
	s.Put([]whittle.Notice{
		{Name: "hung", Hook: whittle.Hook{URL: hung.URL, Timeout: time.Hour}}, to(in),
	})
	s.Tell(event(whittle.EventRise))
	<-began
	for range maxWaiting + 10 {
		s.Tell(event(whittle.EventFall))
		in.next(t)
	}
	fatal.Same(t, s.counts["hung"].dropped.Load(), 10, "dropped")
	s.Close(time.Millisecond)
	fatal.Same(t, s.counts["hung"].dropped.Load(), maxWaiting+11, "dropped at the end")
	s.Tell(event(whittle.EventRise)) // after the end: to nobody
	s.Put([]whittle.Notice{to(in)})
	s.Close(0)
}

// TestReload: a receiver that stays keeps what waits for it, one that goes is ended.
func TestReload(t *testing.T) {
	in, gone := newInbox(t, 503), newInbox(t, 503)
	s := New(nil, slog.New(slog.DiscardHandler))
	left := to(gone, func(n *whittle.Notice) { n.Name = "gone" })
	s.Put([]whittle.Notice{to(in), left})
	s.Tell(event(whittle.EventRise))
	first, _ := in.next(t)
	gone.next(t)
	s.Put([]whittle.Notice{to(in)})
	if again, _ := in.next(t); again != first {
		t.Error("what waited was lost")
	}
	s.Close(20 * time.Second)
	if s.counts["gone"] != nil || len(gone.got) != 0 {
		t.Errorf("a receiver that is gone got %d more", len(gone.got))
	}
}
