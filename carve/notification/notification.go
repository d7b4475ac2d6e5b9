// Package notification tells others of events: by a webhook of JSON, or in Slack's form.
// Each receiver has a queue of its own and one goroutine; nobody waits for them.
package notification

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"whittle"
	"whittle/carve/webhook"
)

const (
	// maxWaiting bounds the events that wait for one receiver.
	maxWaiting = 256
	// maxTries bounds the attempts at one event, and maxPause the wait between two.
	maxTries = 6
	maxPause = 30 * time.Second
)

// Sender tells receivers of events.
type Sender struct {
	redact func(string) string
	log    *slog.Logger
	client *webhook.Client

	running sync.WaitGroup // of the receivers, those that are gone too

	mu     sync.Mutex // guards the following
	closed bool
	all    []*receiver
	counts map[string]*counts // by the receiver's name
}

// New makes a sender without receivers. redact takes what is secret out of a text; nil
// leaves it as it is.
func New(redact func(string) string, log *slog.Logger) *Sender {
	if redact == nil {
		redact = func(s string) string { return s }
	}
	return &Sender{redact: redact, log: log, client: webhook.New(), counts: map[string]*counts{}}
}

// counts says what became of the events for a receiver.
type counts struct{ sent, failed, dropped atomic.Int64 }

// receiver is one config's notice with its queue.
type receiver struct {
	s      *Sender
	notice whittle.Notice
	*counts
	queue  chan whittle.Event
	ended  chan struct{} // closed at run's end
	cancel context.CancelFunc
}

// Put takes the receivers of a config. One that stays the same keeps its queue. What
// waits for one that is gone is dropped. It does not wait for calls under way.
func (s *Sender) Put(notices []whittle.Notice) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	old := s.all
	s.all = nil
	for _, n := range notices {
		i := slices.IndexFunc(old, func(r *receiver) bool { return reflect.DeepEqual(r.notice, n) })
		if i >= 0 {
			s.all = append(s.all, old[i])
			old = slices.Delete(slices.Clone(old), i, i+1)
			continue
		}
		s.all = append(s.all, s.begin(n))
	}
	for _, r := range old {
		r.cancel()
	}
	for name := range s.counts {
		if !slices.ContainsFunc(notices, func(n whittle.Notice) bool { return n.Name == name }) {
			delete(s.counts, name)
		}
	}
}

// begin starts a receiver's goroutine. The caller holds mu.
func (s *Sender) begin(n whittle.Notice) *receiver {
	ctx, cancel := context.WithCancel(context.Background())
	c := s.counts[n.Name]
	if c == nil {
		c = &counts{}
		s.counts[n.Name] = c
	}
	r := &receiver{s: s, notice: n, counts: c, queue: make(chan whittle.Event, maxWaiting), ended: make(chan struct{}), cancel: cancel}
	s.running.Go(func() { r.run(ctx) })
	return r
}

// Tell queues an event for those who want it. It never waits: what has no room is dropped
// and counted.
func (s *Sender) Tell(e whittle.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.all {
		if !r.wants(&e) {
			continue
		}
		select {
		case r.queue <- e:
		default:
			r.dropped.Add(1)
		}
	}
}

func (r *receiver) wants(e *whittle.Event) bool {
	n := &r.notice
	return (len(n.Events) == 0 || slices.Contains(n.Events, e.Kind)) && (len(n.Routes) == 0 || slices.Contains(n.Routes, e.Route))
}

// Close sends what waits, for as long as within at most, and ends every goroutine. What
// is left is dropped and counted.
func (s *Sender) Close(within time.Duration) {
	s.mu.Lock()
	all := s.all
	s.closed, s.all = true, nil
	s.mu.Unlock()
	for _, r := range all {
		close(r.queue)
	}
	t := time.NewTimer(within)
	defer t.Stop()
	for late := false; len(all) > 0; all = all[1:] {
		if !late {
			select {
			case <-all[0].ended:
			case <-t.C:
				late = true
			}
		}
		all[0].cancel()
	}
	s.running.Wait()
	s.client.Close()
}

// run sends one event after the other, until the queue is closed and empty or ctx ends.
func (r *receiver) run(ctx context.Context) {
	defer close(r.ended)
	defer r.cancel()
	for {
		select {
		case <-ctx.Done():
			for range len(r.queue) {
				r.dropped.Add(1)
				<-r.queue
			}
			return
		case e, ok := <-r.queue:
			if !ok {
				return
			}
			r.send(ctx, &e)
		}
	}
}

// send tries until the receiver has taken an event, or will not.
func (r *receiver) send(ctx context.Context, e *whittle.Event) {
	body, err := r.body(e)
	if err != nil {
		r.fail(e, err.Error())
		return
	}
	delivery := webhook.Delivery()
	for tries := 1; ; tries++ {
		reply, err := r.s.client.Post(ctx, &r.notice.Hook, delivery, body)
		switch {
		case err == nil && reply.Status/100 == 2:
			r.sent.Add(1)
			return
		case ctx.Err() == nil && (err == nil && !again(reply.Status) || tries == maxTries):
			r.fail(e, r.s.redact(problem(reply, err)))
			return
		case !webhook.Pause(ctx, tries, maxPause, reply):
			r.dropped.Add(1)
			return
		}
	}
}

// again reports whether a status may be another one later.
func again(status int) bool {
	return status >= 500 || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout || status == http.StatusTooEarly
}

func problem(reply webhook.Reply, err error) string {
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(fmt.Sprintf("response %d %s", reply.Status, reply.Text))
}

func (r *receiver) fail(e *whittle.Event, why string) {
	r.failed.Add(1)
	r.s.log.Warn("a notification could not be sent", "notify", r.notice.Name, "event", string(e.Kind), "route", e.Route, "why", why)
}

// body is an event as the receiver takes it.
func (r *receiver) body(e *whittle.Event) ([]byte, error) {
	shown := *e
	shown.Reason, shown.By = r.s.redact(e.Reason), r.s.redact(e.By)
	if r.notice.Slack {
		return json.Marshal(map[string]string{"text": slackText(&shown)})
	}
	return json.Marshal(Message{
		Version: 1, Event: e.Kind, Route: e.Route, At: e.At.UTC(), From: e.From, To: e.To, Phase: e.Phase,
		Reason: shown.Reason, By: shown.By, Generation: e.Generation, Verdict: e.Verdict, Text: sentence(&shown),
	})
}

// Message is the body of a webhook about an event. Within version 1 fields are added and
// never renamed or removed; docs/rollout.md has its schema.
type Message struct {
	Version    int               `json:"version"`
	Event      whittle.EventKind `json:"event"`
	Route      string            `json:"route"`
	At         time.Time         `json:"at"`
	From       whittle.Share     `json:"from_bp"`
	To         whittle.Share     `json:"to_bp"`
	Phase      whittle.Phase     `json:"phase"`
	Reason     string            `json:"reason"`
	By         string            `json:"by"`
	Generation uint64            `json:"generation"`
	Verdict    whittle.State     `json:"verdict"`
	// Text is all of it in a line.
	Text string `json:"text"`
}

// headings say in a word or two what an event is.
var headings = map[whittle.EventKind]string{
	whittle.EventRise: "share rises", whittle.EventFall: "share falls", whittle.EventRollback: "rolled back", whittle.EventTrip: "breaker tripped",
	whittle.EventFinished: "shift is over", whittle.EventVerdict: "verdict", whittle.EventGate: "waiting for a gate", whittle.EventOrder: "order",
}

func heading(e *whittle.Event) string {
	text := headings[e.Kind]
	if e.From != e.To {
		text += fmt.Sprintf(" %g %% → %g %%", e.From.Percent(), e.To.Percent())
	}
	return text
}

func sentence(e *whittle.Event) string {
	return fmt.Sprintf("%s: %s. %s (%s)", e.Route, heading(e), e.Reason, e.By)
}

// maxSlack is how long a text of Slack's may be, in characters: longer ones it takes apart.
const maxSlack = 2900

// slackText is an event as the text of one of Slack's incoming webhooks.
func slackText(e *whittle.Event) string {
	mark := map[whittle.EventKind]string{
		whittle.EventRise: ":arrow_up:", whittle.EventFall: ":arrow_down:", whittle.EventRollback: ":rotating_light:", whittle.EventTrip: ":rotating_light:",
		whittle.EventFinished: ":white_check_mark:", whittle.EventGate: ":hourglass_flowing_sand:",
	}[e.Kind]
	return shortened(strings.TrimSpace(fmt.Sprintf("%s *%s*: %s\n%s\n%s · %s · verdict %s · %s", mark, escaped(e.Route), escaped(heading(e)), escaped(e.Reason),
		e.Phase.Words(), escaped(e.By), e.Verdict, e.At.UTC().Format("2006-01-02 15:04:05 MST"))))
}

// escaped writes the characters that have a sense in Slack's texts, so that nobody's
// reason calls a whole channel.
func escaped(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}

func shortened(s string) string {
	if r := []rune(s); len(r) > maxSlack {
		return string(r[:maxSlack]) + "…"
	}
	return s
}

var descNotices = prometheus.NewDesc("whittle_notifications_total",
	"What became of the events for a receiver of notifications: sent, failed, dropped.", []string{"notify", "fate"}, nil)

// Describe implements prometheus.Collector. The receivers change with the config, so it
// describes nothing.
func (s *Sender) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (s *Sender) Collect(ch chan<- prometheus.Metric) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, c := range s.counts {
		for fate, n := range map[string]*atomic.Int64{"sent": &c.sent, "failed": &c.failed, "dropped": &c.dropped} {
			ch <- prometheus.MustNewConstMetric(descNotices, prometheus.CounterValue, float64(n.Load()), name, fate)
		}
	}
}
