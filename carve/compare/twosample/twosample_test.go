package twosample

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"whittle/internal/fatal"
	"whittle/internal/simtest"
)

func TestMain(m *testing.M) { simtest.Main(m) }

// world is what one side says of an exchange; from 0 to 1 it says so otherwise.
type world func(r *rand.Rand, by float64) []Value

func number(x float64) []Value { return []Value{{Kind: Least, Number: x, IsNumber: true}} }

func word(k uint64) []Value { return []Value{{Kind: 1000 + k}} }

var worlds = map[string]world{
	"normal, shifted":      func(r *rand.Rand, by float64) []Value { return number(r.NormFloat64() + by) },
	"Cauchy, shifted":      func(r *rand.Rand, by float64) []Value { return number(r.NormFloat64()/r.NormFloat64() + 2*by) },
	"exponential, longer":  func(r *rand.Rand, by float64) []Value { return number(r.ExpFloat64() * (1 + by)) },
	"a die, loaded":        func(r *rand.Rand, by float64) []Value { return word(uint64(loaded(r, by, 6))) },
	"a flag, more often":   func(r *rand.Rand, by float64) []Value { return word(bernoulli(r, 0.3+by/2)) },
	"there, more seldom":   func(r *rand.Rand, by float64) []Value { return number(1)[:1-bernoulli(r, by/2)] },
	"one of many words":    func(r *rand.Rand, by float64) []Value { return word(uint64(loaded(r, by, 60))) },
	"a list, of larger":    func(r *rand.Rand, by float64) []Value { return several(r, 1+r.IntN(20), by) },
	"number or null, null": func(r *rand.Rand, by float64) []Value { return eitherOf(r, 0.2+0.6*by) },
}

func loaded(r *rand.Rand, by float64, faces int) float64 {
	if r.Float64() < by/3 {
		return float64(faces / 2)
	}
	return float64(r.IntN(faces))
}

func bernoulli(r *rand.Rand, p float64) uint64 {
	if r.Float64() < p {
		return 1
	}
	return 0
}

func several(r *rand.Rand, n int, by float64) (list []Value) {
	for range n {
		list = append(list, number(r.NormFloat64()+by)...)
	}
	return list
}

func eitherOf(r *rand.Rand, p float64) []Value {
	if bernoulli(r, p) == 1 {
		return word(0)
	}
	return number(r.NormFloat64())
}

// suspectedAt is after how many exchanges a place is suspected, looked at after each 16th;
// 0: not within n.
func suspectedAt(w world, seed uint64, n int, by float64) int {
	r := rand.New(rand.NewPCG(seed, 11))
	t := &Test{}
	for i := 1; i <= n; i++ {
		t.See(w(r, 0), w(r, by), nil)
		if i%16 == 0 {
			if t.Suspected(true) != nil {
				return i
			}
		}
	}
	return 0
}

// TestFalseSuspicions: two sides that draw alike are suspected in at most 5 of 1,000 places,
// looked at after each 16th of 3,000 exchanges.
//
// Hypothesis: that of Test. Error rate: 1 in Suspect. Source: Ville's inequality, Payoffs of
// eprocess. SIM_RUNS takes more runs.
func TestFalseSuspicions(t *testing.T) {
	simtest.InTurn(t, 0.005, 0.0001, 0.05, worlds, func(w world, run int) bool {
		return suspectedAt(w, uint64(run), 3000, 0) > 0
	})
}

// TestSuspicionsFound: of two sides of which one draws otherwise, as the worlds say, each is
// suspected within 1,400 exchanges, which is before EQUIVALENT can be said, in 99 of 100 runs.
func TestSuspicionsFound(t *testing.T) {
	simtest.InTurn(t, 0.01, 0.0002, 0.1, worlds, func(w world, run int) bool {
		return suspectedAt(w, uint64(run), 1400, 1) == 0
	})
}

// TestLateSuspicions: a candidate that draws otherwise after 6,000 exchanges is suspected
// within another 1,000.
func TestLateSuspicions(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	place := &Test{}
	w := worlds["one of many words"]
	for range 6000 {
		place.See(w(r, 0), w(r, 0), nil)
	}
	if place.Suspected(true) != nil {
		t.Fatal("suspected before")
	}
	for range 1000 {
		place.See(w(r, 0), w(r, 1), nil)
	}
	if place.Suspected(true) == nil {
		t.Error("not suspected")
	}
}

// TestIntervalsHold: a mean outside of the margin is never inside its interval within it, in 99
// of 100 runs, looked at after each 16th of 2,000 exchanges; one of 0 is inside after 1,400.
//
// Hypothesis: the mean is Margin. Error rate: 0.005 on either side. Source: HalfWidth of eprocess.
func TestIntervalsHold(t *testing.T) {
	shift := 2 * math.Erfinv(Margin) // of which the payoff has the mean Margin
	simtest.AtMost(0.01, 0.001).Play(t, "inside though it is not", func(run int) bool {
		r := rand.New(rand.NewPCG(uint64(run), 5))
		place := &Test{}
		for i := range 2000 {
			place.See(number(r.NormFloat64()), number(r.NormFloat64()+shift), nil)
			position := place.row(Position).All
			if low, high := position.Interval(0.005); i%16 == 0 && low >= -Margin && high <= Margin {
				return true
			}
		}
		return false
	})
	simtest.AtMost(0.02, 0.0005).Play(t, "not inside", func(run int) bool {
		r := rand.New(rand.NewPCG(uint64(run), 6))
		place := &Test{}
		for range 1400 {
			place.See(number(r.NormFloat64()), number(r.NormFloat64()), nil)
		}
		open, _ := place.Open(true, 0.005)
		return open != nil
	})
}

// TestWhoIsAskedSecond: where the monolith's own second response deviates as the candidate's
// does, it is the order that makes the difference.
func TestWhoIsAskedSecond(t *testing.T) {
	for _, second := range []uint64{0, 1} {
		place := &Test{}
		for i := range 1500 {
			var again []Value
			if i%20 == 0 {
				again = word(second)
			}
			place.See(word(0), word(1), again)
		}
		fatal.Same(t, place.Suspected(true) != nil, second == 0, "suspected where the second response says %d", second)
	}
}

// TestNeverThere: what the monolith has half of the time and the candidate never is suspected,
// whatever the monolith's second responses say: where they alone have it, they count too.
func TestNeverThere(t *testing.T) {
	simtest.AtMost(0.01, 0.0002).Play(t, "not suspected", func(run int) bool {
		r := rand.New(rand.NewPCG(uint64(run), 17))
		place := &Test{}
		for i := range 2000 {
			var again []Value
			if i%10 == 0 {
				again = word(0)[:r.IntN(2)]
			}
			place.See(word(0)[:r.IntN(2)], nil, again)
		}
		return place.Suspected(true) == nil
	})
}

// TestStateOfATest: a test that was put away goes on as it was.
func TestStateOfATest(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	whole, half := &Test{}, &Test{}
	for i := range 2500 {
		m, c := worlds["number or null, null"](r, 0), worlds["a list, of larger"](r, 0)
		whole.See(m, c, m)
		if half.See(m, c, m); i%700 == 699 {
			b, err := json.Marshal(half)
			fatal.If(t, err)
			half = &Test{}
			fatal.If(t, json.Unmarshal(b, half))
		}
	}
	if !reflect.DeepEqual(whole, half) {
		t.Errorf("%+v\n%+v", whole, half)
	}
}
