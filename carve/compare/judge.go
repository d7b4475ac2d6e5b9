// Package compare turns pairs of responses into findings and a verdict. It is pure: no I/O, no clock, no
// goroutine. What it says depends only on the exchanges and their order.
//
// An exchange goes from Judge.Observe (judge.go), which has XML, multipart and other formats of the kind
// json rewritten as JSON (body), to the series of its order (series.go). That compares status, content type
// and failure, the headers (header) and then the body, by its method: match.go for
// exact and json, random.go for random responses, whose numbers go to distribution and whose rest to a
// match. A match takes the differences that jsondiff finds as marks and bets on them (mark.go), learns
// what the monolith changes by itself (match_noise.go), tells a state of each server's own from a fault
// (match_own.go, own), and has varying values compared by form (form). Differences that are asked about
// again come to rechecks.go. judge_verdict.go makes the verdict, and says what it stands on.
package compare

import (
	"maps"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"whittle"
	"whittle/carve/compare/body"
	"whittle/carve/compare/cause"
	"whittle/carve/compare/digest"
	"whittle/carve/compare/display"
	"whittle/carve/compare/eprocess"
	"whittle/carve/compare/novelty"
)

// Judge compares the two responses of each exchange of one route and gives a verdict on the candidate.
// It is deterministic. Only Known is safe for concurrent use.
//
// It promises: if both sides respond independently by the same distribution, the probability that it
// ever says DIFFERENT is at most 1 - Confidence, even if it is read after every exchange.
//
// Three bodies of evidence each have a part of the error rate: exchanges in which the monolith was asked
// first, those in which the candidate was, and rechecks. Where nobody was served, the order was drawn
// and says nothing of users: all of these belong to the first.
type Judge struct {
	c    whittle.Comparison
	show *display.View

	mirrored, served *series
	rechecks         rechecks
	users            users
	shapes           *novelty.Shapes
	others           cause.Owners
	seconds          seconds

	verdict *whittle.Verdict // nil: something came since
	shownAt int              // exchanges compared when DIFFERENT was last said; 0: never
}

// NewJudge makes the judge of a route. A wrong expression or path is a *whittle.Error with code Invalid
// and Field relative to the route ("compare.per").
func NewJudge(c whittle.Comparison) (*Judge, error) {
	show := &display.View{}
	mirrored, err := newSeries(c, eprocess.OfMirrored, show)
	if err != nil {
		return nil, err
	}
	served, err := newSeries(c, eprocess.OfRest, show)
	if err != nil {
		return nil, err
	}
	served.order = 1
	j := &Judge{
		c: c, show: show, mirrored: mirrored, served: served,
		rechecks: newRechecks(), users: newUsers(), shapes: novelty.NewShapes(),
	}
	j.shareNoise()
	if mirrored.match != nil {
		mirrored.match.others, served.match.others = &j.others, &j.others
	}
	return j, nil
}

// shareNoise lets both orders learn of one monolith.
func (j *Judge) shareNoise() {
	if s, ok := j.served.method.(*random); ok {
		elder, _ := j.mirrored.method.(*random)
		s.Follow(elder.Method)
	}
	for _, m := range [][2]*match{{j.mirrored.match, j.served.match}, {j.mirrored.headers.match, j.served.headers.match}} {
		if a, b := m[0], m[1]; a != nil {
			a.noise.Join(b.noise)
			b.noise = a.noise
			a.tell()
			b.tell()
		}
	}
}

// IsOfALog says that the exchanges are those of a log, of which no more will come. chosen: the repeated
// requests are those that the log has twice, not drawn by chance from all, so what is seen of them holds
// for them alone. headers: the noise of headers is learned from repeats even where none is learned of
// bodies, so that a text that the monolith makes anew is no difference.
func (j *Judge) IsOfALog(chosen, headers bool) {
	for _, s := range []*series{j.mirrored, j.served} {
		for _, m := range []*match{s.headers.match, s.match} {
			if m != nil {
				m.log, m.chosen = true, chosen
			}
		}
		s.headers.learn = s.headers.learn || headers
	}
}

// seriesOf is the evidence that an exchange belongs to.
func (j *Judge) seriesOf(x *whittle.Exchange) *series {
	if x.First() == whittle.Candidate && !x.Unserved {
		return j.served
	}
	return j.mirrored
}

// compared is how many exchanges were compared, in either order.
func (j *Judge) compared() int { return j.mirrored.Compared + j.served.Compared }

// Observation is what became of one exchange.
type Observation = whittle.Observation

// Observe takes one exchange. It does not compare one in which the monolith did not respond or a body
// was cut off. Exception: a different status counts whatever the bodies are, as in a candidate's error
// whose body was not read.
func (j *Judge) Observe(x *whittle.Exchange) Observation {
	switch {
	case x.Monolith.Failure.Neutral() || x.Candidate.Failure.Neutral():
		return Observation{Skip: whittle.SkipCanceled}
	case x.Monolith.Failure == whittle.FailedTooLarge, cutOff(x):
		j.verdict = nil
		j.seriesOf(x).Excused++
		return Observation{Skip: whittle.SkipTooLarge}
	}
	j.verdict = nil
	shape := novelty.ShapeOf(&x.Request)
	j.shapes.See(shape)
	s := j.seriesOf(x)
	if x.Monolith.Failure != whittle.NoFailure {
		s.monolithFailed(x)
		s.Excused++
		return Observation{Skip: whittle.SkipMonolith}
	}
	if j.c.Kind == whittle.JSON {
		x = body.Exchange(x)
	}
	o := s.observe(x)
	j.rechecks.voidOwn(j.ownCount())
	if j.c.Kind != whittle.Statistical {
		j.others.Remember(x)
	}
	if o.Skip == "" {
		j.seconds.see(x.At)
		if s == j.served {
			j.rechecks.Lopsided.round()
		}
	}
	if o.Skip == "" && x.Candidate.Failure == whittle.NoFailure {
		j.shapes.Compared(shape)
		j.users.see(x.User, o.Ask)
	}
	return o
}

// ownCount is at how many places each server was seen to hold a state of its own.
func (j *Judge) ownCount() int {
	n := len(j.mirrored.headers.noise.Own)
	if m := j.mirrored.match; m != nil {
		n += len(m.noise.Own)
	}
	return n
}

// cutOff reports whether half a body would have to be compared.
func cutOff(x *whittle.Exchange) bool {
	responded := x.Monolith.Failure == whittle.NoFailure && x.Candidate.Failure == whittle.NoFailure
	return (x.Monolith.Truncated || x.Candidate.Truncated) && (!responded || x.Monolith.Status == x.Candidate.Status)
}

// Known reports whether a response to a request of this shape was compared. It is safe for concurrent use.
func (j *Judge) Known(q *whittle.Request) bool { return j.shapes.Has(novelty.ShapeOf(q)) }

func statusWord(a *whittle.Response) string { return strconv.Itoa(a.Status) }

// mediaType is the content type with its parameters, except those new in each multipart body.
func mediaType(a *whittle.Response) string {
	if raw := strings.Join(a.Header["Content-Type"], ", "); raw != "" { // a client may take either of two
		return display.Snippet([]byte(body.Normal(raw)), 120)
	}
	return "none"
}

// Redactor removes secrets from what is kept and shown of exchanges.
type Redactor = display.Redactor

// Redact has what the judge shows and keeps redacted from now on. Without it samples are as they came.
func (j *Judge) Redact(with display.Redactor) { j.show.RedactBy(with) }

// users bounds the share of the users whom nobody looked at. Sticky routing draws users, so a
// candidate that fails one tenant in every response is wrong for one user in so many, however many
// requests were compared.
//
// Two bounds hold, and the smaller one counts. Of users: with n compared, k of whom met an unexplained
// difference, the upper bound of a share (eprocess.Share). Of requests: the share that comes from users
// who were never compared. That share falls as more users are compared. So it is at most its mean since an
// earlier moment, which is the share of requests since then that came from new users, and has an upper bound.
// The moments are the powers of two of the requests; the j-th has the level alpha/(j(j+1)).
//
// What is more than is remembered is thinned out by hash, each bit halving it (Wegman; Flajolet 1990).
type users struct {
	Level int             `json:"level"`
	Seen  map[uint64]bool `json:"seen"` // true: met an unexplained difference
	Open  int             `json:"open"` // how many of them did
	// Requests are those of remembered users; the event is a user's first. From holds them at the last
	// powers of two.
	Requests eprocess.Share    `json:"requests"`
	From     [2]eprocess.Share `json:"from"`
}

func newUsers() users { return users{Seen: map[uint64]bool{}} }

// see takes one compared request of a user. All unknown users, 0, count as one.
func (u *users) see(user uint64, open bool) {
	h := digest.Mix(user ^ 0x7f4a7c15)
	if bits.TrailingZeros64(h) < u.Level {
		return
	}
	_, known := u.Seen[h]
	if n := u.Requests.N + 1; n&(n-1) == 0 {
		u.From = [2]eprocess.Share{{N: n, Differing: u.Requests.Differing}, u.From[0]}
	}
	u.Requests.See(!known)
	if was := u.Seen[h]; !was {
		u.Seen[h] = open
		if open {
			u.Open++
		}
	}
	for len(u.Seen) > digest.Remembered {
		u.Level++
		maps.DeleteFunc(u.Seen, func(h uint64, open bool) bool {
			thinned := bits.TrailingZeros64(h) < u.Level
			if thinned && open {
				u.Open--
			}
			return thinned
		})
	}
}

// seconds counts the seconds with a compared exchange. Exchanges of one second have much in common: the
// data, the load, a fault that comes and goes. A fault that returns at least every n seconds has shown
// itself once n seconds were counted, with the probability that one exchange meets it.
type seconds struct {
	N    int       `json:"n"`
	Last time.Time `json:"last"`
}

// see takes an exchange. An older one than the last says nothing new.
func (s *seconds) see(at time.Time) {
	if now := at.Truncate(time.Second); now.After(s.Last) {
		s.N++
		s.Last = now
	}
}
