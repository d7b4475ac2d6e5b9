package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"whittle"
	"whittle/internal/units"
)

type deadVerb struct {
	Ls deadListVerb `cmd:"" help:"List the dead letters, the newest last."`
}

type deadListVerb struct {
	deadPlace
	Count int  `short:"n" default:"50" placeholder:"N" help:"How many of the last ones (${default}). 0: all."`
	JSON  bool `help:"Print a line of JSON for each, with its bytes."`
}

// Help returns the examples.
func (deadListVerb) Help() string {
	return `Lists what the server rejected: events and whole bodies, with source, time, endpoint and reason. It can be
read while the server writes it. Each has a number, which the client's response had as deadLetter. They go by
--dead-bytes, the oldest first. What the sink behind --log-first DIR refused is a log of its own: ingest tail --data
DIR/refused.

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
	total := 0
	err := v.each(ctx, s.corrupt, func(l *letter) error {
		total++
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
		fmt.Fprintf(s.out, "%s, %d shown\n", units.Counted(total, "dead letter"), len(lines))
	}
	return err
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
	return fmt.Appendf(nil, "%-8s %s %s %s, %s: %q", l.name, l.Time.UTC().Format(time.RFC3339), cmp.Or(l.Source, "none"), where, units.Bytes(len(l.Body)), l.Reason), nil
}
