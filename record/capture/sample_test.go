package capture

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"whittle"
)

func keyOf(target string) RequestKey {
	return KeyOf(&whittle.Request{Method: "GET", Target: target})
}

func seen(s *Sample[string], target, kind string, size int) {
	s.See(keyOf(target), kind, size, func() (string, bool) { return target + " " + kind, true })
}

// TestTheSampleHasEachInputOnce: however often and in whatever order inputs
// come, each is chosen once while there is room.
func TestTheSampleHasEachInputOnce(t *testing.T) {
	s := &Sample[string]{Room: 16, Bytes: 1 << 20}
	r := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		n := r.IntN(9)
		kind := "200"
		if n == 8 {
			kind = "400"
		}
		seen(s, fmt.Sprint("/primes/", n), kind, 10)
	}
	got := s.Chosen()
	slices.Sort(got)
	want := []string{
		"/primes/0 200", "/primes/1 200", "/primes/2 200", "/primes/3 200", "/primes/4 200", "/primes/5 200", "/primes/6 200", "/primes/7 200", "/primes/8 400",
	}
	if !slices.Equal(got, want) || s.Seen() != 500 {
		t.Errorf("chosen %q of %d", got, s.Seen())
	}
	if c := s.Coverage(); c != (Coverage{Inputs: 9, Covered: 9, Kinds: 2, KindsCovered: 2}) || c.String() != "9 of 9 distinct recorded inputs" {
		t.Errorf("coverage %+v, %s", c, c)
	}
}

// TestTheSampleHasRareKinds: a kind that came once, last and large, is chosen
// before the hundredth input of a frequent one, and bounds hold.
func TestTheSampleHasRareKinds(t *testing.T) {
	s := &Sample[string]{Room: 10, Bytes: 1000}
	for i := range 5000 {
		seen(s, fmt.Sprint("/", i), "200", 100)
	}
	seen(s, "/rare", "500", 700)
	seen(s, "/huge", "501", 2000)
	seen(s, "/7", "404", 100)
	got := s.Chosen()
	if !slices.Contains(got, "/rare 500") || !slices.Contains(got, "/7 404") || slices.Contains(got, "/huge 501") || len(got) > 10 {
		t.Errorf("chosen %q", got)
	}
	if c := s.Coverage(); c.Inputs != 5002 || c.Kinds != 4 || c.KindsCovered != 3 || c.Covered != len(got) ||
		c.String() != fmt.Sprintf("%d of 5002 distinct recorded inputs, and 3 of 4 kinds of exchange", len(got)) {
		t.Errorf("coverage %+v, %s", c, c)
	}
	if none := (&Sample[string]{}); len(none.Chosen()) != 0 {
		t.Error("the zero value chooses")
	}
}

// TestTheSampleIsEven: no input is preferred for having come early or often, but
// the first of its kind. Hypothesis: each of the other 999 inputs is among the 99
// with the same probability, over the inputs' names. The first tenth, which comes
// ten times as often, then has 1 + 99·99/999 of 100, and over 200 logs its share
// has a standard deviation of 0.002 (hypergeometric): outside of five of them by
// chance less than once in a million.
func TestTheSampleIsEven(t *testing.T) {
	early := 0
	for log := range 200 {
		s := &Sample[int]{Room: 100, Bytes: 1 << 30}
		for i := range 1900 {
			n := i
			if i >= 1000 {
				n %= 100
			}
			s.See(keyOf(fmt.Sprint(log, "/", n)), "200", 1, func() (int, bool) { return n, true })
		}
		for _, n := range s.Chosen() {
			if n < 100 {
				early++
			}
		}
	}
	if share, want := float64(early)/20_000, (1+99*99/999.)/100; share < want-0.0105 || share > want+0.0105 {
		t.Errorf("%.4f of the chosen are of the first tenth, want about %.4f", share, want)
	}
}

// TestTheSampleIsBounded: inputs without end are counted up to a bound, and said.
func TestTheSampleIsBounded(t *testing.T) {
	s := &Sample[int]{Room: 2, Bytes: 100}
	for i := range maxDistinct + 10 {
		s.See(keyOf(fmt.Sprint(i)), "200", 1, func() (int, bool) { return i, true })
	}
	if c := s.Coverage(); !c.More || c.String() != fmt.Sprintf("2 of more than %d distinct recorded inputs", maxDistinct) {
		t.Errorf("%+v %s", c, c)
	}
}
