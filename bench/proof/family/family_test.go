package family

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"
	"time"

	"whittle"
)

// drawn matches what each side draws for itself.
var drawn = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}|\b[0-9a-f]{32}\b|"[0-9a-f]{16}"`)

// A twin that is no twin would be counted as a false alarm of whittle's, or
// hide one.
func TestTwinsRespondAsTheirMonoliths(t *testing.T) {
	for _, f := range All() {
		if f.Name == "count" {
			continue // random by nature: TestTheCountsTwinDrawsAlike
		}
		t.Run(f.Name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			table := NewOrders()
			statuses := map[int]int{}
			for i := range 1500 {
				now := epoch.Add(time.Duration(i) * 37 * time.Minute)
				side := func() *World {
					return &World{Now: now, Rand: rand.New(rand.NewPCG(r.Uint64(), 1)), Orders: table}
				}
				q := f.Request(r, uint64(r.IntN(2000)))
				x, y := f.Monolith(side(), &q), f.Twin(side(), &q)
				statuses[x.Status]++
				if why := differ(&x, &y); why != "" {
					t.Fatalf("%s %s: %s\nmonolith %d %v\n%s\ntwin %d %v\n%s", q.Target, q.Body, why, x.Status, x.Header, x.Body, y.Status, y.Header, y.Body)
				}
			}
			if statuses[500] > 0 || len(statuses) > 3 {
				t.Errorf("statuses %v", statuses)
			}
		})
	}
}

func differ(x, y *whittle.Response) string {
	if x.Status != y.Status {
		return "another status"
	}
	for name := range x.Header {
		if len(y.Header) != len(x.Header) || !slices.Equal(masked(x.Header[name]), masked(y.Header[name])) {
			return "another header " + name
		}
	}
	a, b := drawn.ReplaceAll(x.Body, []byte(`"drawn"`)), drawn.ReplaceAll(y.Body, []byte(`"drawn"`))
	if x.Header.Get("Content-Type") == JSONType {
		a, b = canonical(a), canonical(b)
	}
	if !bytes.Equal(a, b) {
		return "another body"
	}
	return ""
}

func masked(values []string) []string {
	out := slices.Clone(values)
	for i := range out {
		out[i] = drawn.ReplaceAllString(out[i], "drawn")
	}
	return out
}

func canonical(body []byte) []byte {
	var doc any
	if json.Unmarshal(bytes.ReplaceAll(body, []byte(`""drawn""`), []byte(`"drawn"`)), &doc) != nil {
		return append([]byte("not JSON: "), body...)
	}
	out, _ := json.Marshal(doc) // it was JSON
	return out
}

// Both sides draw from one distribution, hypothesis: equal means; 20,000 draws
// of each, so that a difference of a twentieth of a standard deviation is five
// standard errors. The generator's seed is fixed: it cannot fail by chance.
func TestTheCountsTwinDrawsAlike(t *testing.T) {
	f := count()
	q := post("/Count", JSONType, `{"times":150000}`)
	w := &World{Rand: rand.New(rand.NewPCG(3, 4))}
	mean := func(s Service) (m, v float64) {
		const n = 20_000
		for range n {
			a := s(w, &q)
			var x float64
			for _, c := range a.Body[len("Counted to "):] {
				if c >= '0' && c <= '9' {
					x = 10*x + float64(c-'0')
				}
			}
			x = (x - 150_000*drawMean) / 11_000
			m += x / n
			v += x * x / n
		}
		return m, v
	}
	m1, v1 := mean(f.Monolith)
	m2, v2 := mean(f.Twin)
	if d := m1 - m2; d < -0.05 || d > 0.05 {
		t.Errorf("means %g and %g", m1, m2)
	}
	if ratio := v1 / v2; ratio < 0.95 || ratio > 1.05 {
		t.Errorf("variances %g and %g", v1, v2)
	}
}

// A place that is not there would make a mutation that never befalls anything.
func TestPlacesAreWhereTheyAreSaidToBe(t *testing.T) {
	if n := len(All()); n < 12 {
		t.Errorf("%d families", n)
	}
	seen := map[string]bool{}
	for _, f := range All() {
		if seen[f.Name] || len(f.Places) == 0 || f.Latency <= 0 {
			t.Errorf("%s: named twice, or without places or latency", f.Name)
		}
		seen[f.Name] = true
	}
}
