package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http/httpguts"

	"whittle"
	"whittle/systems/ingest/event"
	"whittle/systems/ingest/front"
	"whittle/systems/ingest/stream"
)

// httpTarget replays to a URL: to another ingest in batches of records, which
// keep all that they are; to any other server each event's bytes in a request
// of its own.
type httpTarget struct {
	url, key string
	queues   int
	client   *http.Client
	seed     maphash.Seed
	// records says that the other side takes batches of records.
	records bool
	wait    time.Duration // before the second attempt
	// patience is how long an attempt may take, and longer by what its body takes at
	// slowest bytes a second.
	patience time.Duration
}

// How long an attempt may take: a server that takes in nothing, sends no response or
// stops in the middle of one is asked again.
const (
	patience = time.Minute
	slowest  = 16 << 10
)

// Bounds of a batch of records: below what an ingest takes by default.
const (
	maxPostRecords = 1000
	maxPostBytes   = 400 << 10
)

func newHTTPTarget(target, key string, queues int) (*httpTarget, error) {
	u, err := url.Parse(target)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, whittle.Errorf(whittle.Invalid, "--url %q is no http or https URL", target).
			WithHint("for example --url http://localhost:3000/import")
	}
	if queues < 1 || queues > 1024 {
		return nil, whittle.Errorf(whittle.Invalid, "--posts is %d, it must be 1 to 1024", queues)
	}
	t := &http.Transport{MaxIdleConnsPerHost: queues, Proxy: http.ProxyFromEnvironment}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &httpTarget{
		url: target, key: key, queues: queues, client: &http.Client{Transport: t, CheckRedirect: stay}, seed: maphash.MakeSeed(), wait: firstWait,
		patience: patience,
	}, nil
}

func (p *httpTarget) close() { p.client.CloseIdleConnections() }

// ask finds out whether the other side takes batches of records. One that cannot
// be reached now is asked again until ctx ends.
func (p *httpTarget) ask(ctx context.Context) error {
	for attempt := 0; ; attempt++ {
		err := p.askOnce(ctx)
		if err == nil || whittle.CodeOf(err) == whittle.Invalid {
			return err
		}
		if !p.pause(ctx, attempt, 0) {
			return whittle.Errorf(whittle.Unavailable, "ask %s: %w", p.url, err)
		}
	}
}

func (p *httpTarget) askOnce(ctx context.Context) error {
	once, cancel := context.WithTimeout(ctx, p.patience)
	defer cancel()
	req, err := http.NewRequestWithContext(once, http.MethodOptions, p.url, http.NoBody)
	if err != nil {
		return whittle.Errorf(whittle.Invalid, "ask %s: %w", p.url, err)
	}
	p.authorize(req)
	res, err := p.client.Do(req)
	if err != nil {
		return err
	}
	switch res.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return errors.Join(fmt.Errorf("it responded with %d", res.StatusCode), res.Body.Close()) // whoever is behind it was not asked
	}
	p.records = slices.Contains(res.Header["Accept-Post"], stream.RecordsType)
	return res.Body.Close()
}

func (p *httpTarget) authorize(req *http.Request) {
	if p.key != "" {
		req.SetBasicAuth(p.key, "")
	}
}

func (p *httpTarget) pause(ctx context.Context, attempt int, asked time.Duration) bool {
	return pause(ctx, p.wait, attempt, asked)
}

// send gives each key a queue, so that its events stay in order. After an error
// no further request begins, and those under way are awaited.
func (p *httpTarget) send(ctx context.Context, batch []stream.Entry, done []bool) ([]rejection, error) {
	queues := make([][]int, p.queues)
	for i := range batch {
		queue := i % p.queues
		if key := batch[i].Key; key != "" {
			queue = int(maphash.String(p.seed, key) % uint64(p.queues))
		}
		queues[queue] = append(queues[queue], i)
	}
	var (
		workers sync.WaitGroup
		failed  atomic.Bool
	)
	sent := make([]sending, p.queues)
	for q, queue := range queues {
		s := &sent[q]
		*s = sending{p: p, batch: batch, done: done, failed: &failed}
		workers.Go(func() {
			if s.err = s.all(ctx, queue); s.err != nil {
				failed.Store(true)
			}
		})
	}
	workers.Wait()
	var (
		rejected []rejection
		err      error // of the first queue; the others say the same
	)
	for i := range sent {
		rejected = append(rejected, sent[i].rejected...)
		if !errors.Is(sent[i].err, errStopped) {
			err = cmp.Or(err, sent[i].err)
		}
	}
	slices.SortFunc(rejected, func(a, b rejection) int { return stream.CompareOffsets(a.at.Offset, b.at.Offset) })
	return rejected, err
}

// sending is one queue's part of a batch.
type sending struct {
	p        *httpTarget
	batch    []stream.Entry
	done     []bool
	failed   *atomic.Bool
	rejected []rejection
	err      error
}

// errStopped says that another queue has met an error.
var errStopped = errors.New("another queue has stopped")

func (s *sending) all(ctx context.Context, queue []int) error {
	for len(queue) > 0 {
		n := s.chunk(queue)
		if err := s.until(ctx, queue[:n]); err != nil {
			return err
		}
		queue = queue[n:]
	}
	return nil
}

// chunk is how many events the next request has.
func (s *sending) chunk(queue []int) int {
	if !s.p.records {
		return 1
	}
	bytes := 0
	for n, i := range queue {
		if bytes += stream.FramedLen(&s.batch[i].Record); n > 0 && (n == maxPostRecords || bytes > maxPostBytes) {
			return n
		}
	}
	return len(queue)
}

// until sends events until each is there or rejected.
func (s *sending) until(ctx context.Context, events []int) error {
	for attempt := 0; len(events) > 0; attempt++ {
		if s.failed.Load() {
			return errStopped
		}
		if ctx.Err() != nil {
			return gaveUp(ctx, s.at(events[0]), errors.New("there was no time left"))
		}
		if !s.p.records {
			if reason := unsendable(&s.batch[events[0]]); reason != "" {
				s.reject(events[0], reason)
				return nil
			}
		}
		a, err := s.p.post(ctx, s.batch, events) // also where ctx is canceled: what is sent is to be known
		switch {
		case err != nil:
		case a.outcomes != nil:
			left := events[:0:0]
			for n, i := range events {
				switch a.outcomes[n].Status {
				case "accepted", "duplicate":
					s.done[i] = true
				case "rejected":
					s.reject(i, a.outcomes[n].Reason)
				default:
					left = append(left, i)
				}
			}
			if len(left) < len(events) {
				attempt = 0
			}
			events = left
			err = fmt.Errorf("it responded with %s", a.text())
		case a.status/100 == 2 && !s.p.records:
			s.done[events[0]] = true
			return nil
		case a.rejects() && len(events) > 1: // one of them, perhaps
			half := len(events) / 2
			if err := s.until(ctx, events[:half]); err != nil {
				return err
			}
			return s.until(ctx, events[half:])
		case a.rejects():
			s.reject(events[0], a.text())
			return nil
		case !a.temporary():
			return s.refused(a, events[0])
		default:
			err = fmt.Errorf("it responded with %s", a.text())
		}
		if len(events) > 0 && !s.p.pause(ctx, attempt, a.wait) {
			return gaveUp(ctx, s.at(events[0]), err)
		}
	}
	return nil
}

// at is where an event comes from.
func (s *sending) at(event int) string { return formatPosition(s.batch[event].Position) }

// gaveUp is the error of a send that ended with its context: an interruption is
// what was asked for.
func gaveUp(ctx context.Context, at string, last error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	return whittle.Errorf(whittle.Unavailable, "post %s: %w", at, last)
}

// refused is the error of a response that all other events would get as well.
func (s *sending) refused(a reply, event int) error {
	hint := "nothing further was sent; once it is mended, go on from the position that is printed"
	switch {
	case a.status == http.StatusUnauthorized || a.status == http.StatusForbidden:
		hint = "give a key that it knows by --write-key, and go on from the position that is printed"
	case a.status/100 == 3:
		hint = "give the URL that it names: " + a.location
	}
	return whittle.Errorf(whittle.Invalid, "%s takes no events: it responded to %s with %s", s.p.url, s.at(event), a.text()).WithHint(hint)
}

func (s *sending) reject(event int, reason string) {
	s.done[event] = true
	s.rejected = append(s.rejected, rejection{s.batch[event].Position, reason})
}

// unsendable says why an event cannot be put into a request of its own.
func unsendable(e *stream.Entry) string {
	if kind := e.Get(event.HeaderType); !httpguts.ValidHeaderFieldValue(kind) {
		return fmt.Sprintf("its content-type %.60q cannot be sent", kind)
	}
	return ""
}

// reply is what the other side says of a request.
type reply struct {
	status   int
	wait     time.Duration // how long it asks to be left alone
	location string
	said     []byte
	// outcomes are the events' one by one. Nil: it said nothing of them.
	outcomes []eventOutcome
}

type eventOutcome struct{ Status, Reason string }

func (a *reply) text() string { return fmt.Sprintf("%d %.300s", a.status, a.said) }

// rejects reports that it is the events that are not taken.
func (a *reply) rejects() bool {
	switch a.status {
	case http.StatusBadRequest, http.StatusConflict, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return true
	}
	return false
}

// temporary reports that the same request may be taken later.
func (a *reply) temporary() bool {
	switch a.status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported: // it takes no POST at all
		return false
	}
	return a.status >= 500
}

// post sends one request. Its error is that there was no response.
func (p *httpTarget) post(ctx context.Context, batch []stream.Entry, events []int) (a reply, err error) {
	to, body, header := p.url, batch[events[0]].Value, http.Header{}
	if p.records {
		to, body = withQuery(p.url, "results=runs"), nil
		for _, i := range events {
			body = stream.AppendFramed(body, &batch[i].Record)
		}
		header.Set("Content-Type", stream.RecordsType)
	} else {
		e := &batch[events[0]]
		if kind := e.Get(event.HeaderType); kind != "" {
			header.Set("Content-Type", kind)
		}
		if e.ID != "" {
			header.Set("Idempotency-Key", front.IdempotencyKey(e.ID))
		}
	}
	a, err = p.request(ctx, to, header, body)
	if err == nil && p.records {
		a.outcomes = outcomesOf(a.said, len(events))
		if a.outcomes == nil && a.status/100 == 2 {
			return a, errors.New("it does not say what became of the events")
		}
	}
	return a, err
}

// request posts a body, and reads the response within a bound.
func (p *httpTarget) request(ctx context.Context, to string, header http.Header, body []byte) (a reply, err error) {
	until, cancel := uncanceled(ctx)
	defer cancel()
	until, end := context.WithTimeout(until, p.patience+time.Duration(len(body))*time.Second/slowest)
	defer end()
	req, err := http.NewRequestWithContext(until, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return a, fmt.Errorf("make request: %w", err)
	}
	req.Header = header
	p.authorize(req)
	res, err := p.client.Do(req)
	if err != nil {
		return a, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return a, fmt.Errorf("read response: %w", err)
	}
	return reply{
		status: res.StatusCode, wait: retryAfter(res.Header.Get("Retry-After")),
		location: res.Header.Get("Location"), said: bytes.TrimSpace(text),
	}, nil
}

// longestRetryAfter bounds what the other side may ask for.
const longestRetryAfter = time.Minute

// retryAfter reads a Retry-After, seconds or a date. 0: it asks for nothing.
func retryAfter(text string) time.Duration {
	wait := time.Duration(0)
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		wait = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		wait = time.Until(at)
	}
	return max(0, min(longestRetryAfter, wait))
}

func withQuery(to, query string) string {
	u, err := url.Parse(to) // it was parsed before
	if err != nil {
		return to
	}
	if u.RawQuery != "" {
		query = u.RawQuery + "&" + query
	}
	u.RawQuery = query
	return u.String()
}

// outcomesOf reads the outcomes of n events from a response of another ingest,
// nil where it does not say all of them.
func outcomesOf(said []byte, n int) []eventOutcome {
	var response struct {
		Events int
		Runs   []struct {
			From, Count int
			eventOutcome
		}
	}
	if json.Unmarshal(said, &response) != nil || response.Events != n {
		return nil
	}
	outcomes := make([]eventOutcome, 0, n)
	for _, run := range response.Runs {
		if run.From != len(outcomes) || run.Count < 1 || run.Count > n-len(outcomes) {
			return nil
		}
		for range run.Count {
			outcomes = append(outcomes, run.eventOutcome)
		}
	}
	if len(outcomes) != n {
		return nil
	}
	return outcomes
}

// uncanceled is ctx with its deadline and without its cancellation, so that a
// request which was sent gets its response.
func uncanceled(ctx context.Context) (context.Context, context.CancelFunc) {
	free := context.WithoutCancel(ctx)
	if by, ok := ctx.Deadline(); ok {
		return context.WithDeadline(free, by)
	}
	return context.WithCancel(free)
}
