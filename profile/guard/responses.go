package guard

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// None is the class of requests without a complete response.
const None = "none"

// Responses counts the responses of a run.
type Responses struct {
	// Classes counts them by the first digit of their status, as "2xx", and by
	// None.
	Classes map[string]int64 `json:"classes"`
	// Failed counts the requests that got no complete response, a 5xx, or a
	// response other than expected.
	Failed int64 `json:"failed"`
}

func (a *Responses) valid() bool {
	for _, n := range a.Classes {
		if n < 0 {
			return false
		}
	}
	return a.Failed >= 0
}

// Bounds beyond which responses are clearly another service's: a class's share
// differs by more than chance and by more than this. Responses of another class
// have another cost, so their share is how much of a change in cost they may
// hide or pretend; more failures are never acceptable, whatever they cost.
const (
	otherClasses = 0.05
	moreFailures = 0.01
	beyondChance = 3 // standard errors
)

// mix sums the responses of several runs. The zero value: they are not known.
type mix struct {
	all, failed float64
	classes     map[string]float64
}

// mixed sums the responses of runs. They are not known where those of one run
// are not.
func mixed(runs []Run) mix {
	out := mix{classes: map[string]float64{}}
	for _, r := range runs {
		if r.Responses == nil {
			return mix{}
		}
		for class, n := range r.Responses.Classes {
			out.classes[class] += float64(n)
			out.all += float64(n)
		}
		out.failed += float64(r.Responses.Failed)
	}
	return out
}

func (m mix) known() bool { return m.all > 0 }

// differs says how the responses clearly differ from those before; "" where
// they may be the same. Where those before are not known they are assumed to
// have succeeded, since a baseline is kept of a good service.
func (m mix) differs(before mix) string {
	if !m.known() {
		return ""
	}
	good := before
	if !before.known() {
		good = mix{all: m.all}
	}
	if m.failsMore(good) {
		return shares("of the requests failed", m.failing(), good.failing())
	}
	if !before.known() {
		return ""
	}
	switch class := m.otherClass(before); class {
	case "":
		return ""
	case None:
		return shares("of the requests had no response", m.part(None), before.part(None))
	default:
		return shares("of the responses are "+class, m.part(class), before.part(class))
	}
}

func shares(of string, now, before float64) string {
	return fmt.Sprintf("%.3g %% %s, %.3g %% in the baseline", 100*now, of, 100*before)
}

func (m mix) failsMore(before mix) bool {
	return m.failing()-before.failing() > moreFailures && significant(m.failing(), m.all, before.failing(), before.all)
}

// otherClass is the class whose share rose most, among those that clearly
// differ.
func (m mix) otherClass(before mix) (class string) {
	most := otherClasses
	for _, c := range slices.Sorted(maps.Keys(m.classes)) {
		if grew := m.part(c) - before.part(c); grew > most && significant(m.part(c), m.all, before.part(c), before.all) {
			class, most = c, grew
		}
	}
	return class
}

func (m mix) part(class string) float64 { return m.classes[class] / m.all }

func (m mix) failing() float64 { return min(m.failed/m.all, 1) }

// significant reports whether two shares differ by more than chance: by so many
// standard errors of the difference, estimated from the pooled share.
func significant(a, ofA, b, ofB float64) bool {
	p := (a*ofA + b*ofB) / (ofA + ofB)
	return math.Abs(a-b) > beyondChance*math.Sqrt(p*(1-p)*(1/ofA+1/ofB))
}
