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
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"whittle"
	"whittle/internal/units"
	"whittle/systems/ingest/deadletter"
	"whittle/systems/ingest/stream"
)

type deadVerb struct {
	Ls    deadListVerb   `cmd:"" help:"List the dead letters that somebody has to look at, the newest last."`
	Show  deadShowVerb   `cmd:"" help:"Print dead letters with their bytes."`
	Retry deadRetryVerb  `cmd:"" help:"Send dead letters again, or what was made of them."`
	Rm    deadRemoveVerb `cmd:"" help:"Say of dead letters that nobody needs them any more."`
}

// deadPlace says which server's dead letters.
type deadPlace struct {
	Data     string `group:"stream" env:"INGEST_DATA" default:"ingest-data" placeholder:"DIR" help:"The server's folder (${default})."`
	LogFirst string `group:"stream" env:"INGEST_LOG_FIRST" placeholder:"DIR" help:"The server's --log-first: then what the sink refused is listed, too."`
	deadFlags
	Source string `placeholder:"NAME" help:"Only those of one source."`

	changing bool // the verb notes what becomes of letters
}

type deadListVerb struct {
	deadPlace
	Count int  `short:"n" default:"50" placeholder:"N" help:"How many of the last ones (${default}). 0: all."`
	All   bool `help:"Also those that were sent again or removed, with what became of each."`
	JSON  bool `help:"Print a line of JSON for each."`
}

// Help returns the examples.
func (deadListVerb) Help() string {
	return `Lists what the server rejected: events and whole bodies, with source, time, endpoint and reason. It can be read while the server writes it. Each has a name, which the client's response had as deadLetter; those that the sink behind --log-first refused are sink/ and a number.

Examples:
  ingest dead ls
  ingest dead ls --source shop --json
  ingest dead show 12
  ingest dead retry --url http://localhost:3000 --source shop
  ingest dead rm 13 --reason "a test of ours"`
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
	// Outcome is what became of it: sent, mended, replaced or removed. Empty: it
	// waits for somebody. Note is who replaced it, or why it was removed.
	Outcome deadletter.Outcome `json:"outcome,omitempty"`
	At      time.Time          `json:"outcomeTime,omitzero"`
	Note    string             `json:"note,omitempty"`
	body
}

// of fills it.
func (d *deadShown) of(l *letter) {
	*d = deadShown{
		Name: l.name, Time: l.Time, Source: l.Source, Path: l.Path, Reason: l.Reason, Offset: l.Offset, ID: l.ID,
		RequestID: l.RequestID, Address: l.Address, Type: l.ContentType, Encoding: l.ContentEncoding, Bytes: len(l.Body), Done: l.isDone() && l.note.Outcome != deadletter.Removed,
		Outcome: l.note.Outcome, At: l.note.Time, Note: l.note.Text,
	}
	if !l.Whole {
		d.Index = &l.Index
	}
}

// Run lists.
func (v *deadListVerb) Run(ctx context.Context, s streams) error {
	var lines [][]byte
	total, done, of := 0, 0, map[string]int{}
	err := v.each(ctx, s, func(_ *letters, l *letter) error {
		if l.isDone() && !v.All {
			done++
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
		more := ""
		if done > 0 {
			more = fmt.Sprintf("; --all has %d more that were sent again or removed", done)
		}
		fmt.Fprintf(s.out, "%d dead letters, %d shown%s%s\n", total, len(lines), bySource(of), more)
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
	line := fmt.Appendf(nil, "%-8s %s %s %s, %s: %q", l.name, l.Time.UTC().Format(time.RFC3339), orNone(l.Source), where, units.Bytes(len(l.Body)), l.Reason)
	if l.isDone() {
		line = fmt.Appendf(line, " (%s)", became(l.note))
	}
	return line
}

// became is a note in words.
func became(n deadletter.Note) string {
	text := map[deadletter.Outcome]string{
		deadletter.Sent: "sent again", deadletter.Mended: "mended and sent", deadletter.Replaced: "rejected again", deadletter.Removed: "removed",
	}[n.Outcome]
	text = cmp.Or(text, string(n.Outcome))
	if !n.Time.IsZero() {
		text += " " + n.Time.UTC().Format(time.RFC3339)
	}
	switch {
	case n.Text == "":
	case n.Outcome == deadletter.Replaced:
		text += ", now " + n.Text
	default:
		text += fmt.Sprintf(": %q", n.Text)
	}
	return text
}

// each walks over all letters, damaged ones aside, which are told and make the
// exit status 1. after, if given, is called when those of a folder were visited.
func (v *deadPlace) each(ctx context.Context, s streams, visit func(*letters, *letter) error, after ...func(*letters) error) error {
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
		for _, f := range after {
			err = cmp.Or(err, f(p))
		}
		if err != nil {
			return err
		}
	}
	if corrupt > 0 {
		return whittle.Errorf(whittle.FallsShort, "%d dead letters cannot be read", corrupt)
	}
	for i := range all {
		if p := &all[i]; p.done != nil {
			if err := p.done.Tidy(p.mayBeThere); err != nil {
				return err
			}
		}
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
		if !l.named(v.Names, v.Source) || l.isDone() && len(v.Names) == 0 {
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
	Mended string        `placeholder:"FILE" help:"Send this file in place of the one letter that is named; - is the standard input."`
	Within time.Duration `default:"1m" placeholder:"TIME" help:"How long to try one letter before giving up (${default})."`
}

// Help returns the examples.
func (deadRetryVerb) Help() string {
	return `Sends each letter to its endpoint again: after a limit was raised, say, or to a server that reads what this one could not. A letter that is taken is listed no more. One that is rejected again stays, or is replaced by the letter that the other server keeps of it. What was refused by the sink behind --log-first goes to the stream that the --to flags name, and not to a URL: the server there would call it a duplicate.

To mend an event, print it, change it and send it in the letter's place, without a content encoding:
  ingest dead show 12 --body | sed 's/NaN/null/' | ingest dead retry 12 --mended - --url http://localhost:3000
What was sent by hand some other way, or needs nobody, goes off the list by: ingest dead rm 12 --reason "why"

Examples:
  ingest dead retry --url http://localhost:3000 --write-key k1
  ingest dead retry --log-first /var/lib/ingest --to-sink kafka --to-kafka-brokers localhost:9092 sink/3`
}

// maxMended bounds what is sent in a letter's place.
const maxMended = 64 << 20

// mended reads what is to be sent in the place of the one letter.
func (v *deadRetryVerb) mended(s streams) ([]byte, error) {
	if v.Mended == "" {
		return nil, nil
	}
	if len(v.Names) != 1 {
		return nil, whittle.Errorf(whittle.Invalid, "--mended takes the place of one letter, and %d are named", len(v.Names)).
			WithHint("ingest dead retry 12 --mended FILE --url http://localhost:3000")
	}
	in := s.in
	if v.Mended != "-" {
		f, err := os.Open(v.Mended)
		if err != nil {
			return nil, whittle.Errorf(whittle.Invalid, "read --mended: %w", err)
		}
		defer f.Close()
		in = f
	}
	body, err := io.ReadAll(io.LimitReader(in, maxMended+1))
	switch {
	case err != nil:
		return nil, whittle.Errorf(whittle.Invalid, "read --mended: %w", err)
	case len(bytes.TrimSpace(body)) == 0:
		return nil, whittle.Errorf(whittle.Invalid, "what --mended names is empty, and nothing was sent").
			WithHint("print the letter by: ingest dead show " + v.Names[0] + " --body")
	case len(body) > maxMended:
		return nil, whittle.Errorf(whittle.Invalid, "what --mended names has more than %s", units.Bytes(maxMended))
	}
	return body, nil
}

// wants reports whether a letter is to be sent. One that was removed is, where it
// is named.
func (v *deadRetryVerb) wants(l *letter) bool {
	return l.named(v.Names, v.Source) && (!l.isDone() || l.note.Outcome == deadletter.Removed && len(v.Names) > 0)
}

// Run sends.
func (v *deadRetryVerb) Run(ctx context.Context, s streams) error {
	if err := checkNames(v.Names); err != nil {
		return err
	}
	mended, err := v.mended(s)
	if err != nil {
		return err
	}
	to, err := v.target()
	if err != nil {
		return err
	}
	defer to.close()
	v.changing = true
	sent, rejected, other, found := 0, 0, 0, 0
	err = v.each(ctx, s, func(p *letters, l *letter) error {
		if !v.wants(l) {
			return nil
		}
		found++
		if p.sink != (v.URL == "") {
			other++
			return nil
		}
		note := deadletter.Note{Outcome: deadletter.Sent}
		if mended != nil {
			note.Outcome = deadletter.Mended
			l.replaceBody(mended)
		}
		one, cancel := context.WithTimeout(ctx, v.Within)
		defer cancel()
		no, err := to.retry(one, l)
		if err != nil {
			return err
		}
		if no == nil {
			sent++
			return p.add(note, l.at)
		}
		rejected++
		fmt.Fprintf(s.err, "ingest: %s was rejected again: %s\n", l.name, no.reason)
		if len(no.letters) == 0 {
			return nil
		}
		return p.add(deadletter.Note{Outcome: deadletter.Replaced, Text: strings.Join(no.letters, ", ")}, l.at)
	})
	fmt.Fprintf(s.out, "%d sent again, %d rejected again\n", sent, rejected)
	switch {
	case err != nil:
		return err
	case found < len(v.Names):
		return whittle.Errorf(whittle.NotFound, "%d of %d dead letters are not there, or were sent again before", len(v.Names)-found, len(v.Names)).
			WithHint("ingest dead ls --all says what became of them")
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

type deadRemoveVerb struct {
	deadPlace
	Names  []string `arg:"" optional:"" name:"letter" help:"Which letters, by name. None: all of --source."`
	Reason string   `placeholder:"TEXT" help:"Why, for those who look at them later."`
}

// Help returns the examples.
func (deadRemoveVerb) Help() string {
	return `Takes letters off the list: those that were mended and sent by hand, and those that nobody needs. They stay in the log with the time and the reason, where ingest dead ls --all and show find them, until it needs the room; then they go first. One that was removed by mistake is sent by its name: ingest dead retry 12 --url …

Examples:
  ingest dead rm 12 13 --reason "sent by hand on Tuesday"
  ingest dead rm --source staging --reason "a test of ours"`
}

// Run removes.
func (v *deadRemoveVerb) Run(ctx context.Context, s streams) error {
	if err := checkNames(v.Names); err != nil {
		return err
	}
	if len(v.Names) == 0 && v.Source == "" {
		return whittle.Errorf(whittle.Invalid, "it is not said which letters").WithHint("name them, as ingest dead ls does, or give --source NAME")
	}
	if len(v.Reason) > deadletter.MaxNote {
		return whittle.Errorf(whittle.Invalid, "--reason has %d bytes, %d are allowed", len(v.Reason), deadletter.MaxNote)
	}
	v.changing = true
	removed := 0
	err := v.each(ctx, s, func(p *letters, l *letter) error {
		if !l.named(v.Names, v.Source) || l.isDone() {
			return nil
		}
		removed++
		return p.remove(l.at, v.Reason)
	}, func(p *letters) error { return p.noteRemoved(v.Reason) })
	fmt.Fprintf(s.out, "%d removed\n", removed)
	if err == nil && removed < len(v.Names) {
		return whittle.Errorf(whittle.NotFound, "%d of %d dead letters are not there, or were sent again or removed before", len(v.Names)-removed, len(v.Names)).
			WithHint("ingest dead ls --all says what became of them")
	}
	return err
}

// retrier sends letters. It returns why one was rejected, nil where it is taken.
type retrier interface {
	retry(ctx context.Context, l *letter) (*rejectedAgain, error)
	close()
}

// rejectedAgain says why, and which letters the other side keeps of it.
type rejectedAgain struct {
	reason  string
	letters []string
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

func (t *streamRetrier) retry(ctx context.Context, l *letter) (*rejectedAgain, error) {
	rejected, err := t.send(ctx, []stream.Entry{{Record: *l.record}}, make([]bool, 1))
	if len(rejected) > 0 {
		return &rejectedAgain{reason: rejected[0].reason}, err
	}
	return nil, err
}

type httpRetrier struct{ *httpTarget }

func (t *httpRetrier) retry(ctx context.Context, l *letter) (*rejectedAgain, error) {
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
			return nil, nil //nolint:nilnil // it is taken
		case a.rejects():
			return &rejectedAgain{a.text(), lettersOf(a.said)}, nil
		case !a.temporary():
			return nil, whittle.Errorf(whittle.Invalid, "send %s again: %s", l.name, a.text()).
				WithHint("is it the server's URL, without an endpoint, and a write key that it knows?")
		default:
			err = fmt.Errorf("it responded with %s", a.text())
		}
		if !t.pause(ctx, attempt, a.wait) {
			return nil, gaveUp(ctx, l.name, err)
		}
	}
}

// mostLetters bounds how many letters a note names.
const mostLetters = 8

// lettersOf are the dead letters that a response names, the first ones.
func lettersOf(said []byte) (names []string) {
	for _, m := range deadLetterName.FindAllSubmatch(said, mostLetters) {
		names = append(names, string(m[1]))
	}
	return names
}

var deadLetterName = regexp.MustCompile(`"deadLetter":"([0-9]{1,20})"`)
