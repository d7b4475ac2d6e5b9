// Package export sends the figures of a run under way to those who collect metrics:
// to Prometheus by remote write, or to a collector over OTLP. What it sends counts from
// the run's start, so that a request that fails leaves a gap and loses nothing that the
// next one does not bring.
//
// It is never in the way of the run: one goroutine asks for the figures now and then and
// sends them with bounded waits. A failed export fails no run and is said at its end.
package export

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"whittle"
)

// The bounds of an export.
const (
	every     = 5 * time.Second // between two exports, unless a variable says otherwise
	least     = 10 * time.Millisecond
	most      = time.Hour
	patience  = 5 * time.Second // for one request, and for further ones at the end
	lastTries = 3               // of the last export
	lastPause = time.Second     // between these
	maxReply  = 4 << 10         // of a refusal that is read
	sayReply  = 200             // of a refusal that is said
)

// Target is whom the figures are sent to. It is made by Prometheus or OTLP.
type Target struct {
	url    string
	shown  string // the url without what is secret
	header http.Header
	encode func(*Snapshot, []attribute) ([]byte, error)
}

// Prometheus is a target that takes remote write (1.0), such as Prometheus itself,
// Mimir, Thanos or VictoriaMetrics. A URL without a path is that of a Prometheus server.
// Headers are of the form "Name: value". Errors have the code whittle.Invalid.
func Prometheus(address string, headers []string) (*Target, error) {
	return newTarget(address, headers, encodePrometheus, func(u *url.URL) {
		if u.Path == "" || u.Path == "/" {
			u.Path = "/api/v1/write"
		}
	}, map[string]string{
		"Content-Type": "application/x-protobuf", "Content-Encoding": "snappy", "X-Prometheus-Remote-Write-Version": "0.1.0",
	})
}

// OTLP is a target that takes OTLP over HTTP as JSON, such as an OpenTelemetry collector
// or, from its version 2.47 on, Prometheus at /api/v1/otlp. The path of metrics is added
// to a URL that has it not.
func OTLP(address string, headers []string) (*Target, error) {
	return newTarget(address, headers, encodeOTLP, func(u *url.URL) {
		if !strings.HasSuffix(u.Path, metricsPath) {
			u.Path = strings.TrimSuffix(u.Path, "/") + metricsPath
		}
	}, map[string]string{"Content-Type": "application/json"})
}

const metricsPath = "/v1/metrics"

func newTarget(address string, headers []string, encode func(*Snapshot, []attribute) ([]byte, error), complete func(*url.URL), own map[string]string) (*Target, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, whittle.Errorf(whittle.Invalid, "%.200q is not a URL such as http://127.0.0.1:9090", address)
	}
	t := &Target{header: http.Header{"User-Agent": {"whittle"}}, encode: encode}
	if u.User != nil {
		password, _ := u.User.Password()
		t.header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+password)))
		u.User = nil
	}
	for name, v := range own {
		t.header.Set(name, v)
	}
	for _, h := range headers {
		name, v, ok := strings.Cut(h, ":")
		name, v = strings.TrimSpace(name), strings.TrimSpace(v)
		if !ok || !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(v) {
			return nil, whittle.Errorf(whittle.Invalid, "a header of an export is not of the form \"Name: value\"")
		}
		t.header.Set(name, v)
	}
	complete(u)
	t.url = u.String()
	u.RawQuery = ""
	t.shown = u.String()
	return t, nil
}

// Exporter sends a run's figures to its targets until it is finished.
type Exporter struct {
	senders []*sender
	stop    chan struct{}
	done    chan struct{}
}

// Start begins to send what collect gives, again and again. Labels are the same for all
// figures. The caller calls Finish once.
func Start(targets []*Target, labels map[string]string, collect func() *Snapshot) *Exporter {
	e := &Exporter{stop: make(chan struct{}), done: make(chan struct{})}
	all := attributesOf(labels, os.Getenv("OTEL_RESOURCE_ATTRIBUTES"))
	for _, t := range targets {
		e.senders = append(e.senders, &sender{Target: t, labels: all, client: &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment}, CheckRedirect: noRedirect}})
	}
	go e.run(collect)
	return e
}

// noRedirect gives a redirect back as the response: what is sent may hold credentials.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func (e *Exporter) run(collect func() *Snapshot) {
	defer close(e.done)
	t := time.NewTicker(interval())
	defer t.Stop()
	for {
		select {
		case <-t.C:
			s := collect()
			for _, to := range e.senders {
				to.export(s)
			}
		case <-e.stop:
			s := collect()
			for _, to := range e.senders {
				to.flush(s)
			}
			return
		}
	}
}

// interval is every, or what OpenTelemetry's variable for it says.
func interval() time.Duration {
	d, err := time.ParseDuration(os.Getenv("OTEL_METRIC_EXPORT_INTERVAL") + "ms")
	if err != nil || d < least || d > most {
		return every
	}
	return d
}

// Finish sends the last figures, and says what failed: a line for each target.
func (e *Exporter) Finish() (warnings []string) {
	close(e.stop)
	<-e.done
	for _, s := range e.senders {
		s.client.CloseIdleConnections()
		if w := s.warning(); w != "" {
			warnings = append(warnings, w)
		}
	}
	return warnings
}

// sender sends to one target, and belongs to the exporter's goroutine until that ends.
type sender struct {
	*Target
	labels       []attribute
	client       *http.Client
	sent, failed int
	last         error // of the last export
	lastFailure  error
}

// export sends a snapshot once.
func (s *sender) export(snap *Snapshot) {
	s.sent++
	if s.last = s.post(snap); s.last != nil {
		s.failed++
		s.lastFailure = s.last
	}
}

// flush sends the last snapshot, a few times where that may help.
func (s *sender) flush(snap *Snapshot) {
	began := time.Now()
	for try := range lastTries {
		if try > 0 {
			time.Sleep(lastPause)
		}
		s.export(snap)
		if r, refused := errors.AsType[*refusal](s.last); s.last == nil || refused && !r.passing() || time.Since(began) > patience {
			return
		}
	}
}

// warning says what became of the exports; empty: all is well.
func (s *sender) warning() string {
	if s.failed == 0 {
		return ""
	}
	end := "the last one came through, so all figures are there"
	if s.last != nil {
		end = "the last one failed too, so what is there is not the whole run"
	}
	return fmt.Sprintf("%d of %d exports to %s failed (%v); %s", s.failed, s.sent, s.shown, s.lastFailure, end)
}

// refusal is a response other than success.
type refusal struct {
	status int
	text   string
}

func (r *refusal) Error() string {
	return strings.TrimSpace(fmt.Sprintf("status %d %s", r.status, r.text))
}

// passing reports whether the same request may succeed later.
func (r *refusal) passing() bool {
	return r.status >= http.StatusInternalServerError || r.status == http.StatusTooManyRequests
}

// post sends a snapshot and waits for the response.
func (s *sender) post(snap *Snapshot) error {
	body, err := s.encode(snap, s.labels)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header = s.header.Clone()
	resp, err := s.client.Do(r)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err // which is the same without the URL
		}
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxReply))
	if resp.StatusCode/100 == 2 {
		return err
	}
	return &refusal{resp.StatusCode, printable(text)}
}

// printable is the beginning of what a server said, on one line.
func printable(text []byte) string {
	line := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(string(text), ""))
	return strings.Join(strings.Fields(line[:min(len(line), sayReply)]), " ")
}
