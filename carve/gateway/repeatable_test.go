package gateway

import (
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"whittle"
)

// TestWhatIsTakenOnce: a monolith that gives each of its messages once, by GET, fails
// second requests. Three of them end the repeats of the route; asked again about
// differences may be so many more as are asked about at once. A reset begins anew, and
// where the config forbids second requests, or a query is good for one use, there are
// none.
func TestWhatIsTakenOnce(t *testing.T) {
	const atOnce = 16
	for _, c := range []struct {
		name          string
		every         int
		once, recheck bool
		query         string
		least, most   int64 // second requests
	}{
		{"repeats", 1, false, false, "", 3, 3},
		{"rechecks", 0, false, true, "", 3, 3 + atOnce},
		{"both", 1, false, true, "", 3, 3 + atOnce},
		{"forbidden", 1, true, true, "", 0, 0},
		{"a callback", 1, false, true, "code=c&state=s", 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			var taken sync.Map // the messages
			var seconds atomic.Int64
			monolith := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if _, twice := taken.LoadOrStore(r.Header.Get("X-Message"), true); twice {
					seconds.Add(1)
					w.WriteHeader(http.StatusGone)
				}
			})
			spec := everything()
			spec.Mirror.RepeatEvery, spec.Mirror.Once = c.every, c.once
			s := open(t, spec, monolith, says(200, "other"), func(o *Options) {
				if !c.recheck {
					return
				}
				o.Observe = func(*whittle.Exchange) whittle.Observation { return whittle.Observation{Differs: true, Ask: true} }
				o.Recheck = func(r *whittle.Recheck) (time.Duration, bool) { return 0, len(r.Rounds) < 2 }
			})
			asked := 0
			for round := range int64(2) {
				for range 60 {
					asked++
					r := s.sends("GET", "", "X-Message", strconv.Itoa(asked))
					r.URL.RawQuery = c.query
					if status, _ := s.gets(r); status != http.StatusOK {
						t.Fatalf("a user got %d", status)
					}
					s.rests()
				}
				waits(t, 20*time.Second, func() bool { return seconds.Load() >= (round+1)*c.least })
				if got := seconds.Load(); got > (round+1)*c.most {
					t.Errorf("%d second requests after %d, want %d to %d", got, asked, (round+1)*c.least, (round+1)*c.most)
				}
				s.apply(0, whittle.PhaseOff)
				s.apply(0, whittle.PhaseShadow) // a reset
			}
		})
	}
}

// TestWhatTheCandidateTookIsNotWatched: what is good for one use and was used by the
// candidate is not sent to the monolith as well.
func TestWhatTheCandidateTookIsNotWatched(t *testing.T) {
	monolith := &counted{Handler: says(200, "fine")}
	spec := everything()
	spec.Mirror.Watch = whittle.All
	s := open(t, spec, monolith, says(200, "fine"))
	s.apply(whittle.All, whittle.PhaseLive)
	for _, c := range []struct {
		query string
		want  int
	}{{"code=c&state=s", 0}, {"code=c", 1}} {
		r := s.sends("GET", "")
		r.URL.RawQuery = c.query
		s.gets(r)
		if s.rests(); monolith.count() != c.want {
			t.Errorf("%s: the monolith was asked %d times, want %d", c.query, monolith.count(), c.want)
		}
	}
}

// TestPollsAreTheMonoliths: what belongs to a connection made of polls is neither
// mirrored nor served by the candidate, at any share.
func TestPollsAreTheMonoliths(t *testing.T) {
	candidate := &counted{Handler: says(200, "candidate")}
	spec := everything()
	spec.Mirror.RepeatEvery = 1
	monolith := &counted{Handler: says(200, "monolith")}
	s := open(t, spec, monolith, candidate)
	for _, share := range []whittle.Share{0, whittle.All} {
		s.apply(share, whittle.PhaseShift)
		for range 10 {
			r := s.sends("GET", "")
			r.URL.RawQuery = "EIO=4&transport=polling&sid=x"
			if _, body := s.gets(r); body != "monolith" {
				t.Errorf("share %d: %q responds", share, body)
			}
		}
	}
	if l := s.rests(); l.Skipped[whittle.SkipStreaming] != 20 || candidate.count() != 0 || monolith.count() != 20 {
		t.Errorf("ledger %+v, the candidate was asked %d times, the monolith %d", l, candidate.count(), monolith.count())
	}
}
