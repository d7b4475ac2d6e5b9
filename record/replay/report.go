package replay

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"whittle"
	"whittle/internal/latency"
)

// Report is the result of a replay. Its JSON is for machines; durations are in
// milliseconds unless their name says otherwise.
type Report struct {
	Log     string `json:"log"`
	Against string `json:"against"`
	// Verdict is DIFFERENT if any route's is, and EQUIVALENT if that of every
	// compared route is.
	Verdict whittle.State `json:"verdict"`
	Summary string        `json:"summary"`
	// Interrupted says that the replay ended early.
	Interrupted bool      `json:"interrupted,omitempty"`
	Started     time.Time `json:"started"`
	Seconds     float64   `json:"seconds"`
	// RecordedSeconds is how long the recording took.
	RecordedSeconds float64 `json:"recorded_seconds"`
	// Ledger accounts for every exchange of the log.
	Ledger whittle.Ledger `json:"ledger"`
	// Differing counts the compared or failed exchanges with a different
	// response.
	Differing int64    `json:"differing"`
	Routes    []Route  `json:"routes"`
	Schedule  Schedule `json:"schedule"`
	Latency   Latency  `json:"latency"`
	Shapes    Shapes   `json:"shapes"`
	Redacted  Redacted `json:"redacted"`
	// Notes are what a reader must know in addition to the figures, a sentence
	// each.
	Notes []string `json:"notes,omitempty"`
}

// Route is one route's part.
type Route struct {
	Route     string              `json:"route"`
	Kind      whittle.CompareKind `json:"kind"`
	Verdict   whittle.Verdict     `json:"verdict"`
	Ledger    whittle.Ledger      `json:"ledger"`
	Differing int64               `json:"differing"`
	// Undecided exchanges got a different response or none, perhaps because the
	// credential was redacted. The verdict does not include them.
	Undecided int64 `json:"undecided,omitempty"`
	// Noise lists what the monolith was seen to change by itself.
	Noise []string `json:"noise,omitempty"`
	// NoisyHeaders are the headers that the monolith changes by itself; they
	// are compared all the same.
	NoisyHeaders []string `json:"noisy_headers,omitempty"`
	// Recorded has the monolith's recorded latencies, Now the candidate's.
	Recorded latency.Snapshot `json:"recorded"`
	Now      latency.Snapshot `json:"now"`
}

// Latency compares the recorded latencies with the new ones.
type Latency struct {
	// Recorded has the monolith's latencies for the requests that were sent.
	Recorded latency.Snapshot `json:"recorded"`
	// Now is measured from when a request was sent, Intended from when it was
	// due; without a pace no request has an intended time.
	Now      latency.Snapshot `json:"now"`
	Intended latency.Snapshot `json:"intended"`
}

// Schedule says how the pace was kept.
type Schedule struct {
	// Speed is the multiple of the recorded pace; 0: as fast as possible.
	Speed       float64 `json:"speed"`
	Connections int     `json:"connections"`
	// PerSecond requests were sent.
	PerSecond float64 `json:"per_second"`
	// Late is how late requests were sent. Own includes only those that waited
	// neither for an earlier response nor for a connection, so it is whittle's
	// own delay.
	Late latency.Snapshot `json:"late"`
	Own  latency.Snapshot `json:"own"`
}

// Shapes counts the kinds of request that the candidate was sent.
type Shapes struct {
	// Recorded shapes are in the log. Met of these had an exchange compared,
	// and Differing had one with a different response.
	Recorded  int `json:"recorded"`
	Met       int `json:"met"`
	Differing int `json:"differing"`
	// Share is Met divided by Recorded, 0 to 1; MetExchanges is the share of
	// the recorded exchanges that have such a shape.
	Share        float64 `json:"share"`
	MetExchanges float64 `json:"met_exchanges"`
	// Unmet lists at most 100 shapes that were not met, the most frequent
	// first; Differ those that differ.
	Unmet  []Shape `json:"unmet,omitempty"`
	Differ []Shape `json:"differ,omitempty"`
}

const listed = 100

// report makes the report, with what the log could not read.
func (b *results) report(log Log) *Report {
	r := &Report{
		Log: log.Name(), Against: b.o.Against, Interrupted: b.interrupted,
		Started: time.Now().Add(-b.elapsed).UTC(), Seconds: b.elapsed.Seconds(),
		RecordedSeconds: b.survey.last.Sub(b.survey.first).Seconds(),
		Schedule:        Schedule{Speed: b.o.Speed, Connections: b.o.Connections, Late: b.late.Snapshot(), Own: b.own.Snapshot()},
		Latency:         Latency{Recorded: b.recorded.Snapshot(), Now: b.service.Snapshot(), Intended: b.intended.Snapshot()},
		Redacted:        b.redacted, Ledger: whittle.Ledger{Skipped: map[string]int64{}},
	}
	if s := b.elapsed.Seconds(); s > 0 {
		r.Schedule.PerSecond = float64(b.service.Count()) / s
	}
	for sub, p := range b.routes {
		one := Route{
			Route: sub.spec.Name, Kind: sub.spec.Compare.Kind, Ledger: p.ledger, Differing: p.differing, Undecided: p.undecided,
			Recorded: p.recorded.Snapshot(), Now: p.service.Snapshot(),
		}
		if sub.judge != nil {
			one.Verdict, one.Noise, one.NoisyHeaders = sub.verdict(p.undecided), sub.judge.Noise(), sub.judge.NoisyHeaders()
		}
		r.Routes = append(r.Routes, one)
		addLedger(&r.Ledger, &p.ledger)
		r.Differing += p.differing
		if sub.hidden != "" {
			r.Notes = append(r.Notes, sub.hidden)
		}
		if sub.note != "" && p.differing > 0 {
			r.Notes = append(r.Notes, sub.note)
		}
	}
	slices.SortFunc(r.Routes, func(a, b Route) int {
		return cmp.Or(cmp.Compare(b.Ledger.Total, a.Ledger.Total), strings.Compare(a.Route, b.Route))
	})
	slices.Sort(r.Notes)
	addLedger(&r.Ledger, &b.rest)
	if unread := b.survey.total - r.Ledger.Total; unread > 0 {
		why := whittle.SkipInterrupted
		if !b.interrupted {
			why = whittle.SkipStale
		}
		r.Ledger.Total += unread
		r.Ledger.Skipped[why] += unread
	}
	r.Shapes = b.sumShapes()
	r.notes(b, log)
	r.judge()
	return r
}

// verdict returns the judge's verdict. Where exchanges are undecided because of
// a redacted credential, it is that of the judge who saw none of them, and
// never EQUIVALENT, since what those exchanges request was not shown.
func (s *subject) verdict(undecided int64) whittle.Verdict {
	if undecided == 0 || s.withCredential == nil {
		return s.judge.Verdict()
	}
	v := s.withCredential.Verdict()
	if v.State == whittle.Equivalent {
		v.State = whittle.Undecided
	}
	if v.State == whittle.Undecided {
		v.Summary = fmt.Sprintf("UNDECIDED: %s not the same, and may depend on a credential that is only a token", were(undecided, "response"))
	}
	return v
}

func addLedger(to, l *whittle.Ledger) {
	to.Total += l.Total
	to.Compared += l.Compared
	to.Failed += l.Failed
	to.Shed += l.Shed
	for why, n := range l.Skipped {
		to.Skipped[why] += n
	}
}

func (b *results) sumShapes() Shapes {
	s := Shapes{Recorded: len(b.shapes)}
	all, met := int64(0), int64(0)
	for _, one := range b.shapes {
		all += one.Recorded
		if one.Compared > 0 {
			s.Met++
			met += one.Recorded
		} else {
			s.Unmet = append(s.Unmet, *one)
		}
		if one.Differing > 0 {
			s.Differing++
			s.Differ = append(s.Differ, *one)
		}
	}
	if all > 0 {
		s.Share, s.MetExchanges = float64(s.Met)/float64(s.Recorded), float64(met)/float64(all)
	}
	often := func(a, b Shape) int {
		return cmp.Or(cmp.Compare(b.Recorded, a.Recorded), strings.Compare(a.Shape, b.Shape))
	}
	slices.SortFunc(s.Unmet, often)
	slices.SortFunc(s.Differ, often)
	s.Unmet, s.Differ = s.Unmet[:min(listed, len(s.Unmet))], s.Differ[:min(listed, len(s.Differ))]
	return s
}

func (r *Report) notes(b *results, log Log) {
	r.Notes = append(r.Notes, b.o.Notes...)
	for _, of := range []struct {
		n         int64
		what, why string
	}{
		{b.redacted.Denied, "request", "denied (401 or 403) with a token in the place of a credential, so nothing was compared: " +
			"set a real one with --header 'Authorization: …'"},
		{b.redacted.Undecided, "request", "not answered the same, and sent with a token in the place of a credential, on which they may depend: whittle does not judge them. " +
			"Set a real one with --header 'Authorization: …', or --header 'Cookie: …'; one in path, query or body cannot be set, and is recorded " +
			"as it is where its name is in redact.keep"},
		{b.early, "response", "not the same, but came before enough repeats had shown what the monolith changes by itself: " +
			"the findings count them, the number of different responses does not"},
		{b.redacted.Values, "request", "sent with tokens in the place of secrets in path, query or body: a candidate that looks them up finds nothing"},
		{b.redacted.Responses, "response", "recorded with tokens in the place of secrets, and the key or the rules that make the candidate's comparable are missing: " +
			"the key lies next to the log's folder, with .key after its name (--redact-key FILE)"},
		{r.Ledger.Skipped[whittle.SkipNotSafe], "request", "not sent that may change something: say safe: true or dry_run: in the route's config, or give --allow-writes"},
	} {
		if of.n > 0 {
			r.Notes = append(r.Notes, were(of.n, of.what)+" "+of.why)
		}
	}
	if p99 := r.Schedule.Late.P99; p99 > 100*time.Millisecond {
		why := "the target responded too slowly for the pace, or --connections is too low"
		if r.Schedule.Own.P99 > p99/2 {
			why = "this machine was too busy to keep the pace"
		}
		r.Notes = append(r.Notes, fmt.Sprintf("one request in a hundred was sent more than %s late: %s", p99.Round(time.Millisecond), why))
	}
	r.Notes = append(r.Notes, b.notes...)
	r.Notes = append(r.Notes, log.Damage()...)
}

// judge sets the verdict over all routes.
func (r *Report) judge() {
	r.Verdict = whittle.Equivalent
	count := map[whittle.State]int{}
	compared := 0
	for i := range r.Routes {
		v := &r.Routes[i].Verdict
		if v.State == whittle.Different {
			r.Verdict = whittle.Different
		}
		if v.Compared == 0 && v.State != whittle.Different && r.Routes[i].Ledger.Failed == 0 && r.Routes[i].Undecided == 0 {
			continue // nothing was asked of it; one that never responds is not left out
		}
		compared++
		count[v.State]++
	}
	if r.Verdict != whittle.Different && (compared == 0 || count[whittle.Equivalent] < compared) {
		r.Verdict = whittle.Undecided
	}
	switch {
	case compared == 0:
		r.Summary = fmt.Sprintf("%s: nothing could be compared", r.Verdict)
	case compared == 1 && len(r.Routes) == 1:
		r.Summary = r.Routes[0].Verdict.Summary
	default:
		r.Summary = fmt.Sprintf("%s: %s compared, %d equivalent, %d different, %d undecided; %d of %d exchanges differ", r.Verdict,
			were(int64(compared), "route"), count[whittle.Equivalent], count[whittle.Different], count[whittle.Undecided], r.Differing, r.Ledger.Compared+r.Ledger.Failed)
	}
}

// were writes a count with its noun and verb: "2 responses were".
func were(n int64, what string) string {
	if n == 1 {
		return "1 " + what + " was"
	}
	if stem, ok := strings.CutSuffix(what, "y"); ok {
		what = stem + "ie"
	}
	return fmt.Sprintf("%d %ss were", n, what)
}

// Err decides the replay's exit status: DIFFERENT falls short, and so does each
// outcome in failIf ("undecided", "differs").
func (r *Report) Err(failIf []string) error {
	short := func(why string) error { return whittle.Errorf(whittle.FallsShort, "%s: %s", r.Against, why) }
	switch {
	case r.Ledger.Failed > 0 && r.Latency.Now.Count == 0 && !r.Interrupted: // a target that is not there is no other service
		return whittle.Errorf(whittle.Unavailable, "%s: none of the requests got a response (%d failed)", r.Against, r.Ledger.Failed)
	case r.Verdict == whittle.Different:
		return short("the candidate is DIFFERENT")
	case r.Differing > 0 && slices.Contains(failIf, "differs"):
		return short(were(r.Differing, "response") + " not the same")
	case r.Verdict == whittle.Undecided && slices.Contains(failIf, "undecided"):
		return short("the verdict is UNDECIDED")
	}
	if r.Ledger.Compared > 0 || r.Interrupted {
		return nil
	}
	return whittle.Errorf(whittle.Unavailable, "%s: nothing could be compared", r.Against).
		WithHint("the report says what each exchange was skipped for")
}
