package compare

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"whittle"
)

// TestHowLongExpiresSays: a response that is kept for another time than the monolith's is
// DIFFERENT; one that is kept for as long is not, however it is cached on the way.
func TestHowLongExpiresSays(t *testing.T) {
	t.Parallel()
	// cached is a copy that a side makes anew each so many seconds, of what is kept for an hour.
	cached := func(w kindWorld, period, phase int64) time.Time {
		made := (w.now.Unix()+phase)/period*period - phase
		return time.Unix(made, 0).Add(time.Hour)
	}
	for name, k := range map[string]struct {
		monolith, candidate func(w kindWorld) time.Time
		word                whittle.State
		says                string
	}{
		"an hour":         {func(w kindWorld) time.Time { return w.now.Add(time.Hour) }, func(w kindWorld) time.Time { return w.now.Add(time.Hour - time.Second) }, whittle.Equivalent, "header Expires: a time as an HTTP date, 60 min ahead"},
		"a year":          {func(w kindWorld) time.Time { return w.now.Add(time.Hour) }, func(w kindWorld) time.Time { return w.now.AddDate(1, 0, 0) }, whittle.Different, ""},
		"a minute":        {func(w kindWorld) time.Time { return w.now.Add(time.Hour) }, func(w kindWorld) time.Time { return w.now.Add(time.Minute) }, whittle.Different, ""},
		"once an hour":    {func(w kindWorld) time.Time { return w.now.Add(either(*w.calls < 500, time.Hour, 2*time.Hour)) }, func(w kindWorld) time.Time { return w.now.Add(either(*w.calls < 500, time.Hour, 5*time.Hour)) }, whittle.Equivalent, "0 by form, 1 not compared (header Expires)"},
		"own start":       {func(kindWorld) time.Time { return time.Unix(1_900_000_000, 0) }, func(kindWorld) time.Time { return time.Unix(1_900_000_780, 0) }, whittle.Equivalent, ""},
		"jitter":          {func(w kindWorld) time.Time { return w.now.Add(time.Duration(3000+w.r.IntN(2000)) * time.Second) }, func(w kindWorld) time.Time { return w.now.Add(time.Duration(3000+w.r.IntN(2000)) * time.Second) }, whittle.Equivalent, "not compared (header Expires)"},
		"own caches":      {func(w kindWorld) time.Time { return cached(w, 1800, 0) }, func(w kindWorld) time.Time { return cached(w, 1800, 700) }, whittle.Equivalent, "not compared (header Expires)"},
		"caches of 20 s":  {func(w kindWorld) time.Time { return cached(w, 20, 0).Add(-3570 * time.Second) }, func(w kindWorld) time.Time { return cached(w, 20, 7).Add(-3570 * time.Second) }, whittle.Equivalent, "not compared (header Expires)"},
		"caches of a key": {func(w kindWorld) time.Time { return cached(w, 40, int64(w.key)).Add(-3550 * time.Second) }, func(w kindWorld) time.Time { return cached(w, 40, int64(w.key*7)).Add(-3550 * time.Second) }, whittle.Equivalent, "not compared (header Expires)"},
	} {
		says := func(at func(w kindWorld) time.Time) kindMakes {
			return func(w kindWorld) kindSaid {
				return kindSaid{body: `{"ok":true}`, header: whittle.Header{expiresHeader: {at(w).UTC().Format(http.TimeFormat)}, "Date": {w.now.UTC().Format(http.TimeFormat)}}}
			}
		}
		k1 := kind{name, says(k.monolith), says(k.candidate), k.word, ""}
		if v := playKind(t, &k1, 1, 2000, 100*time.Millisecond); v.State != k.word {
			t.Errorf("%s: %s %+v %+v", name, v.Summary, v.Findings, v.Bounds)
		} else if v.State == whittle.Equivalent && !strings.Contains(v.Summary, k.says) {
			t.Errorf("%s: %s", name, v.Summary)
		}
	}
}

const expiresHeader = "Expires"
