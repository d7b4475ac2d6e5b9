package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"whittle"
	"whittle/internal/units"
	"whittle/systems/ingest/deadletter"
	"whittle/systems/ingest/stream"
)

type deadVerb struct {
	Ls    deadListVerb  `cmd:"" help:"List the dead letters that have not been sent again, the newest last."`
	Show  deadShowVerb  `cmd:"" help:"Print dead letters with their bytes."`
	Retry deadRetryVerb `cmd:"" help:"Send dead letters again."`
}

// deadPlace says which server's dead letters.
type deadPlace struct {
	Data     string `group:"stream" env:"INGEST_DATA" default:"ingest-data" placeholder:"DIR" help:"The server's folder (${default})."`
	LogFirst string `group:"stream" env:"INGEST_LOG_FIRST" placeholder:"DIR" help:"The server's --log-first: then what the sink refused is listed, too."`
	deadFlags
	Source string `placeholder:"NAME" help:"Only those of one source."`
}

type deadListVerb struct {
	deadPlace
	Count int  `short:"n" default:"50" placeholder:"N" help:"How many of the last ones (${default}). 0: all."`
	All   bool `help:"Also those that were sent again."`
	JSON  bool `help:"Print a line of JSON for each."`
}

// Help returns the examples.
func (deadListVerb) Help() string {
	return `Lists what the server rejected: events and whole bodies, with source, time, endpoint and reason. It can be read while the server writes it. Each has a name, which the client's response had as deadLetter; those that the sink behind --log-first refused are sink/ and a number.

Examples:
  ingest dead ls
  ingest dead ls --source shop --json
  ingest dead show 12
  ingest dead retry --url http://localhost:3000 --source shop`
}

// deadShown is a letter as a line of JSON. One of Value, Text and Base64 holds
// the body: whichever can; ls leaves them out.
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
	Done      bool      `json:"sentAgain,omitempty"`
	body
}

// of fills it.
func (d *deadShown) of(l *letter) {
	*d = deadShown{
		Name: l.name, Time: l.Time, Source: l.Source, Path: l.Path, Reason: l.Reason, Offset: l.Offset, ID: l.ID,
		RequestID: l.RequestID, Address: l.Address, Type: l.ContentType, Encoding: l.ContentEncoding, Bytes: len(l.Body), Done: l.done,
	}
	if !l.Whole {
		d.Index = &l.Index
	}
}

// Run lists.
func (v *deadListVerb) Run(ctx context.Context, s streams) error {
	var lines [][]byte
	total, of := 0, map[string]int{}
	err := v.each(ctx, s, func(_ *letters, l *letter) error {
		if l.done && !v.All {
			return nil
		}
		of[orNone(l.Source)]++
		if !l.named(nil, v.Source) {
			return nil
		}
		line := v.line(l)
		if total++; v.Count > 0 && len(lines) == v.Count {
			lines = append(lines[:0], lines[1:]...)
		}
		lines = append(lines, line)
		return nil
	})
	for _, line := range lines {
		fmt.Fprintf(s.out, "%s\n", line)
	}
	if !v.JSON && (err == nil || whittle.CodeOf(err) == whittle.FallsShort) {
		fmt.Fprintf(s.out, "%d dead letters, %d shown%s\n", total, len(lines), bySource(of))
	}
	return err
}

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

func (v *deadListVerb) line(l *letter) []byte {
	if v.JSON {
		var shown deadShown
		shown.of(l)
		line, err := json.Marshal(shown)
		if err != nil {
			return fmt.Appendf(nil, "%s cannot be shown: %v", l.name, err)
		}
		return line
	}
	where := l.Path
	if !l.Whole {
		where = fmt.Sprintf("%s event %d at byte %d", l.Path, l.Index, l.Offset)
	}
	return fmt.Appendf(nil, "%-8s %s %s %s, %s: %q", l.name, l.Time.UTC().Format(time.RFC3339), orNone(l.Source), where, units.Bytes(len(l.Body)), l.Reason)
}

// each walks over all letters, damaged ones aside, which are told and make the
// exit status 1.
func (v *deadPlace) each(ctx context.Context, s streams, visit func(*letters, *letter) error) error {
	all, err := v.openLetters()
	if err != nil {
		return err
	}
	defer closeLetters(all)
	corrupt := 0
	var gone error
	for i := range all {
		p := &all[i]
		gone = cmp.Or(gone, missingIn(p.dir))
		err := p.walk(ctx, func(l *letter) error { return visit(p, l) }, func(e *stream.CorruptError) error {
			corrupt++
			fmt.Fprintf(s.err, "ingest: %v\n", e)
			return nil
		})
		if err != nil {
			return err
		}
	}
	if corrupt > 0 {
		return whittle.Errorf(whittle.FallsShort, "%d dead letters cannot be read", corrupt)
	}
	return gone
}

type deadShowVerb struct {
	deadPlace
	Names []string `arg:"" optional:"" name:"letter" help:"Which letters, by name. None: all that were not sent again, of --source or of all."`
	Body  bool     `help:"Print the bare body: what can be mended and sent to the letter's endpoint."`
}

// Run prints.
func (v *deadShowVerb) Run(ctx context.Context, s streams) error {
	if err := checkNames(v.Names); err != nil {
		return err
	}
	found := 0
	err := v.each(ctx, s, func(_ *letters, l *letter) error {
		if !l.named(v.Names, v.Source) || l.done && len(v.Names) == 0 {
			return nil
		}
		found++
		if v.Body {
			_, err := s.out.Write(l.Body)
			return err
		}
		var shown deadShown
		shown.of(l)
		shown.body = bodyOf(l.Body)
		line, err := json.MarshalIndent(shown, "", "  ")
		if err != nil {
			return fmt.Errorf("show %s: %w", l.name, err)
		}
		fmt.Fprintf(s.out, "%s\n", line)
		return nil
	})
	if err == nil && found < len(v.Names) {
		return whittle.Errorf(whittle.NotFound, "%d of %d dead letters are not there", len(v.Names)-found, len(v.Names)).
			WithHint("ingest dead ls --all -n 0 lists all that are kept")
	}
	return err
}

type deadRetryVerb struct {
	deadPlace
	Names  []string      `arg:"" optional:"" name:"letter" help:"Which letters, by name. None: all that were not sent again."`
	URL    string        `placeholder:"URL" help:"The server to send to, such as http://localhost:3000; each letter goes to its endpoint there."`
	To     streamFlags   `embed:"" prefix:"to-" envprefix:"TO_"`
	Key    string        `name:"write-key" env:"INGEST_WRITE_KEY" placeholder:"KEY" help:"Write key to send with."`
	Within time.Duration `default:"1m" placeholder:"TIME" help:"How long to try one letter before giving up (${default})."`
}

// Help returns the examples.
func (deadRetryVerb) Help() string {
	return `Sends each letter to its endpoint again: after a limit was raised, say, or to a server that reads what this one could not. A letter that is taken is listed no more. One that is rejected again stays, or is replaced by the letter that the other server keeps of it. What was refused by the sink behind --log-first goes to the stream that the --to flags name, and not to a URL: the server there would call it a duplicate.

To mend an event, print it, change it and send it by hand:
  ingest dead show 12 --body | sed 's/NaN/null/' | curl -H 'Content-Type: application/json' --data-binary @- http://localhost:3000/v1/batch

Examples:
  ingest dead retry --url http://localhost:3000 --write-key k1
  ingest dead retry --log-first /var/lib/ingest --to-sink kafka --to-kafka-brokers localhost:9092 sink/3`
}

// Run sends.
func (v *deadRetryVerb) Run(ctx context.Context, s streams) error {
	if err := checkNames(v.Names); err != nil {
		return err
	}
	to, err := v.target()
	if err != nil {
		return err
	}
	defer to.close()
	done := map[string]*deadletter.Done{}
	defer func() {
		for _, d := range done {
			d.Close()
		}
	}()
	sent, rejected, other, found := 0, 0, 0, 0
	err = v.each(ctx, s, func(p *letters, l *letter) error {
		if !l.named(v.Names, v.Source) || l.done {
			return nil
		}
		found++
		if p.sink != (v.URL == "") {
			other++
			return nil
		}
		if done[p.dir] == nil {
			d, err := deadletter.OpenDone(p.dir)
			if err != nil {
				return err
			}
			done[p.dir] = d
		}
		one, cancel := context.WithTimeout(ctx, v.Within)
		defer cancel()
		reason, replaced, err := to.retry(one, l)
		if err != nil {
			return err
		}
		if reason != "" {
			rejected++
			fmt.Fprintf(s.err, "ingest: %s was rejected again: %s\n", l.name, reason)
			if !replaced {
				return nil
			}
		} else {
			sent++
		}
		return done[p.dir].Add(l.at)
	})
	fmt.Fprintf(s.out, "%d sent again, %d rejected again\n", sent, rejected)
	switch {
	case err != nil:
		return err
	case found < len(v.Names):
		return whittle.Errorf(whittle.NotFound, "%d of %d dead letters are not there, or were sent again before", len(v.Names)-found, len(v.Names))
	case other > 0 && v.URL != "":
		return whittle.Errorf(whittle.FallsShort, "%d dead letters are the sink's, and were not sent", other).
			WithHint("they go onto a stream: ingest dead retry --to-sink kafka …")
	case other > 0:
		return whittle.Errorf(whittle.FallsShort, "%d dead letters are the server's, and were not sent", other).
			WithHint("they go to a server: ingest dead retry --url http://localhost:3000")
	case rejected > 0:
		return whittle.Errorf(whittle.FallsShort, "%d dead letters were rejected again", rejected)
	}
	return nil
}

// retrier sends letters. reason says why one was rejected, and replaced that the
// other side keeps a letter of it.
type retrier interface {
	retry(ctx context.Context, l *letter) (reason string, replaced bool, err error)
	close()
}

func (v *deadRetryVerb) target() (retrier, error) {
	if v.URL != "" && !v.To.isUnsaid() {
		return nil, errTwoTargets
	}
	if v.URL != "" {
		t, err := newHTTPTarget(strings.TrimRight(v.URL, "/"), v.Key, 1)
		return &httpRetrier{t}, err
	}
	if v.To.Sink == "embedded" {
		return nil, whittle.Errorf(whittle.Invalid, "it is not said where to send the letters").
			WithHint("--url http://localhost:3000, or for those of a sink the --to flags: --to-sink kafka …")
	}
	to, err := v.To.open(context.Background())
	return &streamRetrier{streamTarget{to}}, err
}

type streamRetrier struct{ streamTarget }

func (t *streamRetrier) retry(ctx context.Context, l *letter) (string, bool, error) {
	rejected, err := t.send(ctx, []stream.Entry{{Record: *l.record}}, make([]bool, 1))
	if len(rejected) > 0 {
		return rejected[0].reason, false, err
	}
	return "", false, err
}

type httpRetrier struct{ *httpTarget }

func (t *httpRetrier) retry(ctx context.Context, l *letter) (reason string, replaced bool, err error) {
	header := http.Header{}
	for name, value := range map[string]string{"Content-Type": l.ContentType, "Content-Encoding": l.ContentEncoding} {
		if value != "" {
			header.Set(name, value)
		}
	}
	for attempt := 0; ; attempt++ {
		a, err := t.request(ctx, t.url+l.Path, header, l.Body)
		switch {
		case err != nil:
		case a.status/100 == 2:
			return "", false, nil
		case a.rejects():
			return a.text(), bytes.Contains(a.said, []byte(`"deadLetter"`)), nil
		case !a.temporary():
			return "", false, whittle.Errorf(whittle.Invalid, "send %s again: %s", l.name, a.text()).
				WithHint("is it the server's URL, without an endpoint, and a write key that it knows?")
		default:
			err = fmt.Errorf("it responded with %s", a.text())
		}
		if !t.pause(ctx, attempt, a.wait) {
			return "", false, gaveUp(ctx, l.name, err)
		}
	}
}
