package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"whittle/cmdline"

	"whittle"
	"whittle/record/capture"
	"whittle/record/journal"
	"whittle/record/redact"
)

type recordLs struct {
	Log   string `arg:"" placeholder:"DIR" help:"A folder that was recorded into, or one of its segments."`
	Limit int    `default:"10" help:"How many targets of each route (${default}); 0: all."`
	JSON  string `name:"json" placeholder:"FILE" help:"Write it as JSON (\"-\": standard output)."`
}

// Help gives the examples.
func (recordLs) Help() string {
	return `Reads the blocks' headers alone, so it is quick however long the log is. * stands for a part of a path that looks like an id. What can be seen to be damaged is listed; record verify reads everything.

Examples:
  whittle record ls recorded
  whittle record ls recorded --json - | jq '.routes[] | {route, count}'`
}

// recordListing is what ls and verify say in JSON.
type recordListing struct {
	Format   string         `json:"format"`
	Entries  int64          `json:"exchanges"`
	First    *time.Time     `json:"first,omitempty"`
	Last     *time.Time     `json:"last,omitempty"`
	Segments int            `json:"segments"`
	Bytes    int64          `json:"bytes"`
	Unpacked int64          `json:"unpacked_bytes"`
	Redacted []recordPart   `json:"redacted"`
	Routes   []recordRoute  `json:"routes"`
	Damages  []recordDamage `json:"damages"`
}

// recordRoute counts a route's exchanges, or one target's of it.
type recordRoute struct {
	Route    string        `json:"route,omitempty"`
	Target   string        `json:"target,omitempty"`
	Count    int64         `json:"count"`
	Body     int64         `json:"body_bytes"`
	Statuses map[int]int64 `json:"statuses"` // 0: failed
	Targets  []recordRoute `json:"targets,omitempty"`
	row      capture.Row   // the sums
}

// recordPart is exchanges that were redacted by the same rules.
type recordPart struct {
	Count int64 `json:"exchanges"`
	// Rules are missing where the log does not say them.
	Rules *redact.Description `json:"rules,omitempty"`
}

type recordDamage struct {
	Segment string `json:"segment"`
	Offset  int64  `json:"offset"`
	Bytes   int64  `json:"bytes"`
	Why     string `json:"why"`
}

// Run lists the log.
func (v *recordLs) Run(ctx context.Context, s cmdline.Streams) error {
	l, err := journal.List(ctx, v.Log)
	if err != nil {
		return err
	}
	r := listed(l)
	if v.JSON != "" {
		if err := cmdline.WriteJSON(s, v.JSON, r); err != nil || v.JSON == "-" {
			return err
		}
	}
	showListing(s.Out, r, v.Limit)
	screen := cmdline.NewScreen(s)
	if len(l.Damages) > 0 {
		fmt.Fprintln(s.Out)
	}
	sayDamages(screen, l.Damages)
	return nil
}

// listed groups a listing's rows by their route.
func listed(l *journal.Listing) *recordListing {
	r := &recordListing{
		Format: "whittle.record/1", Entries: l.Entries, Segments: l.Segments, Bytes: l.Bytes, Unpacked: l.Unpacked,
		Redacted: []recordPart{}, Routes: []recordRoute{}, Damages: []recordDamage{},
	}
	if l.Entries > 0 {
		r.First, r.Last = &l.First, &l.Last
	}
	for _, p := range l.Parts {
		r.Redacted = append(r.Redacted, recordPart{Count: p.Entries, Rules: rulesOf(p.About)})
	}
	for _, d := range l.Damages {
		r.Damages = append(r.Damages, recordDamage(d))
	}
	for _, row := range l.Rows {
		if n := len(r.Routes); n == 0 || r.Routes[n-1].Route != row.Route {
			r.Routes = append(r.Routes, recordRoute{Route: row.Route})
		}
		route := &r.Routes[len(r.Routes)-1]
		route.row.Add(&row)
		route.Count, route.Body, route.Statuses = route.row.Count, route.row.Bytes, route.row.Statuses
		target := strings.TrimSpace(row.Method + " " + row.Path)
		route.Targets = append(route.Targets, recordRoute{Target: target, Count: row.Count, Body: row.Bytes, Statuses: row.Statuses})
	}
	slices.SortStableFunc(r.Routes, func(a, b recordRoute) int { return cmp.Compare(b.Count, a.Count) })
	return r
}

func showListing(w io.Writer, r *recordListing, limit int) {
	if r.Entries == 0 {
		fmt.Fprintln(w, "Nothing has been recorded.")
		return
	}
	fmt.Fprintf(w, "%s from %s to %s, in %s of %s (%s unpacked)\n",
		counted(r.Entries, "exchange"), clock(*r.First), clock(*r.Last), counted(r.Segments, "segment"), sized(r.Bytes), sized(r.Unpacked))
	for _, p := range r.Redacted {
		of := ""
		if len(r.Redacted) > 1 {
			of = fmt.Sprintf(" (%s)", counted(p.Count, "exchange"))
		}
		fmt.Fprintf(w, "redacted by %s%s\n", redactedBy(p.Rules), of)
	}
	fmt.Fprintf(w, "\n  %-48s %10s %9s  %s\n", "route, and its targets", "exchanges", "bodies", "responses")
	for _, route := range r.Routes {
		name := route.Route
		if name == "" {
			name = "(no route)"
		}
		showRow(w, "  ", name, &route)
		for i, t := range route.Targets {
			if limit > 0 && i == limit {
				fmt.Fprintf(w, "      … and %s\n", counted(len(route.Targets)-limit, "more target"))
				break
			}
			showRow(w, "      ", cmp.Or(t.Target, "(others)"), &t)
		}
	}
}

// rulesOf reads what a log says of its redaction; nil where it says nothing.
func rulesOf(about []byte) *redact.Description {
	if d, ok := redact.ParseDescription(about); ok {
		return &d
	}
	return nil
}

func redactedBy(d *redact.Description) string {
	if d == nil {
		return "rules that the log does not name"
	}
	return harmless(d.String()) + ", with key " + harmless(d.Key)
}

func showRow(w io.Writer, indent, name string, r *recordRoute) {
	fmt.Fprintf(w, "%s%-*s %10d %9s  %s\n", indent, 50-len(indent), harmless(name), r.Count, sized(r.Body), statuses(r.Statuses))
}

// statuses is "200 ×95, 404 ×3, failed ×2", the most frequent first.
func statuses(counts map[int]int64) string {
	type one struct {
		status int
		n      int64
	}
	var all []one
	for status, n := range counts {
		all = append(all, one{status, n})
	}
	slices.SortFunc(all, func(a, b one) int { return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.status, b.status)) })
	var out []string
	for i, s := range all {
		if i == 5 {
			rest := int64(0)
			for _, other := range all[i:] {
				rest += other.n
			}
			out = append(out, fmt.Sprintf("others ×%d", rest))
			break
		}
		name := fmt.Sprint(s.status)
		if s.status == 0 {
			name = "failed"
		}
		out = append(out, fmt.Sprintf("%s ×%d", name, s.n))
	}
	return strings.Join(out, ", ")
}

// clock is a time where the user is.
func clock(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") }

type recordVerify struct {
	Log  string `arg:"" placeholder:"DIR" help:"A folder that was recorded into, or one of its segments."`
	JSON string `name:"json" placeholder:"FILE" help:"Write what the log has, and every damage, as JSON (\"-\": standard output)."`
}

// Help gives the examples.
func (recordVerify) Help() string {
	return `Reads every block, checks its sums and takes every exchange apart. What is damaged is named with its place; the rest stays readable. A log may be verified while it is written to.

Exit status: 0 all is whole; 1 something is damaged.

Examples:
  whittle record verify recorded
  whittle record verify recorded --json damage.json`
}

// Run verifies the log.
func (v *recordVerify) Run(ctx context.Context, s cmdline.Streams) error {
	screen := cmdline.NewScreen(s, v.JSON)
	l, err := journal.Verify(ctx, v.Log, func(done, total int64) {
		screen.Progress("%s of %s", sized(done), sized(total))
	})
	screen.Clear()
	if err != nil {
		return err
	}
	if v.JSON != "" {
		if err := cmdline.WriteJSON(s, v.JSON, listed(l)); err != nil {
			return err
		}
	}
	screen.Say("%s in %s of %s can be read.", counted(l.Entries, "exchange"), counted(l.Segments, "segment"), sized(l.Bytes))
	sayDamages(screen, l.Damages)
	if n := len(l.Damages); n > 0 {
		lost := int64(0)
		for _, d := range l.Damages {
			lost += d.Bytes
		}
		return whittle.Errorf(whittle.FallsShort, "%s: damaged in %s, %s cannot be read", v.Log, counted(n, "place"), sized(lost))
	}
	return nil
}
