package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"whittle"
	"whittle/internal/notify"
	"whittle/internal/units"
	"whittle/systems/ingest/stream"
)

type deadVerb struct {
	Ls    deadListVerb  `cmd:"" help:"List the dead letters, the newest last."`
	Retry deadRetryVerb `cmd:"" help:"Send dead letters again."`
}

type deadListVerb struct {
	deadPlace
	Count int  `short:"n" default:"50" placeholder:"N" help:"How many of the last ones (${default}). 0: all."`
	JSON  bool `help:"Print a line of JSON for each, with its bytes."`
}

// Help returns the examples.
func (deadListVerb) Help() string {
	return `Lists what the server rejected: events and whole bodies, with source, time, endpoint and reason. It can be read while the server writes it. Each has a number, which the client's response had as deadLetter. They go by --dead-bytes, the oldest first. What the sink behind --log-first DIR refused is a log of its own: ingest tail --data DIR/refused.

Examples:
  ingest dead ls
  ingest dead ls --source shop --json
  ingest dead ls --json | jq -c 'select(.deadLetter=="12").text' -r | sed 's/NaN/null/' | curl --json @- http://localhost:3000/v1/batch`
}

// deadShown is a letter as a line of JSON. One of Value, Text and Base64 holds
// the body: whichever can.
type deadShown struct {
	Name      string    `json:"deadLetter"`
	Time      time.Time `json:"time"`
	Source    string    `json:"source,omitempty"`
	Path      string    `json:"path"`
	Reason    string    `json:"reason"`
	Index     *int      `json:"index,omitempty"`
	Offset    int       `json:"offset"`
	ID        string    `json:"messageId,omitempty"`
	RequestID string    `json:"requestId,omitempty"`
	Address   string    `json:"address,omitempty"`
	Type      string    `json:"contentType,omitempty"`
	Encoding  string    `json:"contentEncoding,omitempty"`
	Bytes     int       `json:"bytes"`
	body
}

// Run lists.
func (v *deadListVerb) Run(ctx context.Context, s streams) error {
	var lines [][]byte
	total, of := 0, map[string]int{}
	err := v.each(ctx, s.tell, func(l *letter) error {
		total++
		of[orNone(l.Source)]++
		line, err := v.line(l)
		if v.Count > 0 && len(lines) == v.Count {
			lines = append(lines[:0], lines[1:]...)
		}
		lines = append(lines, line)
		return err
	})
	for _, line := range lines {
		fmt.Fprintf(s.out, "%s\n", line)
	}
	if !v.JSON && (err == nil || whittle.CodeOf(err) == whittle.FallsShort) {
		fmt.Fprintf(s.out, "%d dead letters, %d shown%s\n", total, len(lines), bySource(of))
	}
	return err
}

// tell says that a record is corrupt.
func (s streams) tell(e *stream.CorruptError) { fmt.Fprintf(s.err, "ingest: %v\n", e) }

// mostSources bounds how many sources a summary names.
const mostSources = 20

// bySource says how many letters each source has, the most first.
func bySource(of map[string]int) string {
	names := slices.SortedFunc(maps.Keys(of), func(a, b string) int {
		return cmp.Or(cmp.Compare(of[b], of[a]), cmp.Compare(a, b))
	})
	var text strings.Builder
	for i, name := range names {
		if i == mostSources {
			fmt.Fprintf(&text, ", and %d sources more", len(names)-i)
			break
		}
		text.WriteString([]string{"; of ", ", "}[min(i, 1)])
		fmt.Fprintf(&text, "%s %d", name, of[name])
	}
	return text.String()
}

func (v *deadListVerb) line(l *letter) ([]byte, error) {
	if v.JSON {
		shown := deadShown{
			Name: l.name, Time: l.Time, Source: l.Source, Path: l.Path, Reason: l.Reason, Offset: l.Offset, ID: l.ID,
			RequestID: l.RequestID, Address: l.Address, Type: l.ContentType, Encoding: l.ContentEncoding, Bytes: len(l.Body), body: bodyOf(l.Body),
		}
		if !l.Whole {
			shown.Index = &l.Index
		}
		return json.Marshal(shown)
	}
	where := l.Path
	if !l.Whole {
		where = fmt.Sprintf("%s event %d at byte %d", l.Path, l.Index, l.Offset)
	}
	return fmt.Appendf(nil, "%-8s %s %s %s, %s: %q", l.name, l.Time.UTC().Format(time.RFC3339), orNone(l.Source), where, units.Bytes(len(l.Body)), l.Reason), nil
}

type deadRetryVerb struct {
	deadPlace
	Names  []string      `arg:"" optional:"" name:"letter" help:"Which letters, by number. None: all."`
	URL    string        `required:"" placeholder:"URL" help:"The server to send to, such as http://localhost:3000; each letter goes to its endpoint there."`
	Key    string        `name:"write-key" env:"INGEST_WRITE_KEY" placeholder:"KEY" help:"Write key to send with."`
	Within time.Duration `default:"1m" placeholder:"TIME" help:"How long to try one letter before giving up (${default})."`
}

// Help returns the examples.
func (deadRetryVerb) Help() string {
	return `Sends each letter to its endpoint again: after a limit was raised, say, or to a server that reads what this one could not. Nothing is noted: the letters stay in their log, and what is sent twice is a duplicate where it has an id. Prints the number to go on from.

Examples:
  ingest dead retry --url http://localhost:3000 --write-key k1
  ingest dead retry --url http://localhost:3000 --source shop --from 120`
}

// Run sends.
func (v *deadRetryVerb) Run(ctx context.Context, s streams) error {
	for _, n := range v.Names {
		if _, err := strconv.ParseUint(n, 10, 64); err != nil {
			return whittle.Errorf(whittle.Invalid, "%q is no dead letter's number", n).WithHint("ingest dead ls lists them")
		}
	}
	if u, err := url.Parse(v.URL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return whittle.Errorf(whittle.Invalid, "--url %q is no http or https URL", v.URL).WithHint("for example --url http://localhost:3000")
	}
	sent, rejected, next := 0, 0, strconv.FormatUint(v.From, 10)
	err := v.each(ctx, s.tell, func(l *letter) error {
		if len(v.Names) > 0 && !slices.Contains(v.Names, l.name) {
			return nil
		}
		next = l.name
		reason, err := v.send(ctx, l)
		if err != nil {
			return err
		}
		if next = behind(stream.Position{Offset: l.name}).Offset; reason == "" {
			sent++
			return nil
		}
		rejected++
		fmt.Fprintf(s.err, "ingest: %s was rejected again: %s\n", l.name, reason)
		return nil
	})
	fmt.Fprintf(s.out, "%d sent again, %d rejected again; go on with --from %s\n", sent, rejected, next)
	switch {
	case err != nil:
		return err
	case sent+rejected < len(v.Names):
		return whittle.Errorf(whittle.NotFound, "%d of %d dead letters are not there", len(v.Names)-sent-rejected, len(v.Names)).
			WithHint("ingest dead ls -n 0 lists all that are kept")
	case rejected > 0:
		return whittle.Errorf(whittle.FallsShort, "%d dead letters were rejected again", rejected)
	}
	return nil
}

// send sends one letter until there is a response. It gives the reason where it is rejected.
func (v *deadRetryVerb) send(ctx context.Context, l *letter) (reason string, err error) {
	ctx, cancel := context.WithTimeout(ctx, v.Within)
	defer cancel()
	for attempt := 0; ; attempt++ {
		status, said, err := v.post(ctx, l)
		switch {
		case err != nil:
		case status/100 == 2:
			return "", nil
		case status == http.StatusBadRequest, status == http.StatusRequestEntityTooLarge, status == http.StatusUnprocessableEntity:
			return fmt.Sprintf("%d %s", status, said), nil
		case status == http.StatusTooManyRequests, status == http.StatusRequestTimeout, status >= 500 && status != http.StatusNotImplemented:
			err = fmt.Errorf("it responded with %d %s", status, said)
		default:
			return "", whittle.Errorf(whittle.Invalid, "send %s again: %d %s", l.name, status, said).
				WithHint("is it the server's URL, without an endpoint, and a write key that it knows?")
		}
		if !notify.Sleep(ctx, stream.Backoff(attempt, firstWait, longestWait, 1)) {
			return "", whittle.Errorf(whittle.Unavailable, "send %s again: %w", l.name, err)
		}
	}
}

// Waits between two attempts.
const (
	firstWait   = 100 * time.Millisecond
	longestWait = 10 * time.Second
)

// retryClient follows no redirect: what is behind it might take a letter for something else.
var retryClient = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

func (v *deadRetryVerb) post(ctx context.Context, l *letter) (status int, said []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimRight(v.URL, "/")+l.Path, bytes.NewReader(l.Body))
	if err != nil {
		return 0, nil, err
	}
	for name, value := range map[string]string{"Content-Type": l.ContentType, "Content-Encoding": l.ContentEncoding} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	if v.Key != "" {
		req.SetBasicAuth(v.Key, "")
	}
	res, err := retryClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	said, err = io.ReadAll(io.LimitReader(res.Body, 300))
	return res.StatusCode, bytes.TrimSpace(said), err
}
