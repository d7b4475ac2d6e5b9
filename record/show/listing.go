package show

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"whittle/internal/units"
	"whittle/record/journal"
	"whittle/record/redact"
)

// Listing is what ls and verify say in JSON.
type Listing struct {
	Format   string           `json:"format"`
	Entries  int64            `json:"exchanges"`
	First    *time.Time       `json:"first,omitempty"`
	Last     *time.Time       `json:"last,omitempty"`
	Segments int              `json:"segments"`
	Bytes    int64            `json:"bytes"`
	Unpacked int64            `json:"unpacked_bytes"`
	Redacted []Part           `json:"redacted"`
	Routes   []RouteCount     `json:"routes"`
	Damages  []journal.Damage `json:"damages"`
}

// RouteCount counts a route's exchanges, or one target's of it.
type RouteCount struct {
	Route    string        `json:"route,omitempty"`
	Target   string        `json:"target,omitempty"`
	Count    int64         `json:"count"`
	Body     int64         `json:"body_bytes"`
	Statuses map[int]int64 `json:"statuses"` // 0: failed
	Targets  []RouteCount  `json:"targets,omitempty"`
	row      journal.Row   // the sums
}

// Part is exchanges that were redacted by the same rules.
type Part struct {
	Count int64 `json:"exchanges"`
	// Rules are missing where the log does not say them.
	Rules *redact.Description `json:"rules,omitempty"`
}

// NewListing groups a listing's rows by their route.
func NewListing(l *journal.Listing) *Listing {
	r := &Listing{
		Format: "whittle.record/1", Entries: l.Entries, Segments: l.Segments, Bytes: l.Bytes, Unpacked: l.Unpacked,
		Redacted: []Part{}, Routes: []RouteCount{}, Damages: append([]journal.Damage{}, l.Damages...),
	}
	if l.Entries > 0 {
		r.First, r.Last = &l.First, &l.Last
	}
	for _, p := range l.Parts {
		r.Redacted = append(r.Redacted, Part{Count: p.Entries, Rules: RulesOf(p.About)})
	}
	for _, row := range l.Rows {
		if n := len(r.Routes); n == 0 || r.Routes[n-1].Route != row.Route {
			r.Routes = append(r.Routes, RouteCount{Route: row.Route})
		}
		route := &r.Routes[len(r.Routes)-1]
		route.row.Add(&row)
		route.Count, route.Body, route.Statuses = route.row.Count, route.row.Bytes, route.row.Statuses
		target := strings.TrimSpace(row.Method + " " + row.Path)
		route.Targets = append(route.Targets, RouteCount{Target: target, Count: row.Count, Body: row.Bytes, Statuses: row.Statuses})
	}
	slices.SortStableFunc(r.Routes, func(a, b RouteCount) int { return cmp.Compare(b.Count, a.Count) })
	return r
}

// PrintListing writes a listing, with so many targets of each route; 0: all.
func PrintListing(w io.Writer, r *Listing, limit int) {
	if r.Entries == 0 {
		fmt.Fprintln(w, "Nothing has been recorded.")
		return
	}
	fmt.Fprintf(w, "%s from %s to %s, in %s of %s (%s unpacked)\n",
		units.Counted(r.Entries, "exchange"), clock(*r.First), clock(*r.Last), units.Counted(r.Segments, "segment"), units.Size(r.Bytes), units.Size(r.Unpacked))
	for _, p := range r.Redacted {
		of := ""
		if len(r.Redacted) > 1 {
			of = fmt.Sprintf(" (%s)", units.Counted(p.Count, "exchange"))
		}
		fmt.Fprintf(w, "redacted by %s%s\n", redactedBy(p.Rules), of)
	}
	fmt.Fprintf(w, "\n  %-48s %10s %9s  %s\n", "route, and its targets", "exchanges", "bodies", "responses")
	for _, route := range r.Routes {
		showRow(w, "  ", cmp.Or(route.Route, journal.NoRoute), &route)
		for i, t := range route.Targets {
			if limit > 0 && i == limit {
				fmt.Fprintf(w, "      … and %s\n", units.Counted(len(route.Targets)-limit, "more target"))
				break
			}
			showRow(w, "      ", cmp.Or(t.Target, "(others)"), &t)
		}
	}
}

// RulesOf reads what a log says of its redaction; nil where it says nothing.
func RulesOf(about []byte) *redact.Description {
	if d, ok := redact.ParseDescription(about); ok {
		return &d
	}
	return nil
}

func redactedBy(d *redact.Description) string {
	if d == nil {
		return "rules that the log does not name"
	}
	return Harmless(d.String()) + ", with key " + Harmless(d.Key)
}

func showRow(w io.Writer, indent, name string, r *RouteCount) {
	fmt.Fprintf(w, "%s%-*s %10d %9s  %s\n", indent, 50-len(indent), Harmless(name), r.Count, units.Size(r.Body), statuses(r.Statuses))
}

// statuses is "200 ×95, 404 ×3, failed ×2", the most frequent first.
func statuses(counts map[int]int64) string {
	all := slices.SortedFunc(maps.Keys(counts), func(a, b int) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
	var out []string
	for i, status := range all {
		if i == 5 {
			rest := int64(0)
			for _, other := range all[i:] {
				rest += counts[other]
			}
			out = append(out, fmt.Sprintf("others ×%d", rest))
			break
		}
		name := "failed"
		if status != 0 {
			name = fmt.Sprint(status)
		}
		out = append(out, fmt.Sprintf("%s ×%d", name, counts[status]))
	}
	return strings.Join(out, ", ")
}

// clock is a time where the user is.
func clock(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") }
