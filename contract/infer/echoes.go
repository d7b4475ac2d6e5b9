package infer

import (
	"fmt"
	"math"
	"net/url"
	"strconv"

	"whittle/contract"
	"whittle/contract/infer/document"
	"whittle/contract/infer/pattern"
)

// maxScalars bounds how many values of a request, and of a response, are
// compared with each other.
const maxScalars = 16

// echoes finds the values that a response repeats from its request, and the
// request's numbers that a number of the response is proportional to.
type echoes struct {
	pairs map[[2]string]*echo
	seen  int
}

// echo is one place of the request paired with one of the response.
type echo struct {
	n, equal int
	first    string
	varied   bool
	// ratio's mean and sum of squared deviations (Welford), over numbers
	// that are not zero; low and high are the request's.
	numbers       int
	mean, squares float64
	low, high     float64
}

// scalar is a value at a place: its name in a guess, and in `compare.per` where it is one
// that compare.per can read.
type scalar struct{ name, cel, text string }

func (s *echoes) see(e *endpoint, wildcards []string, query url.Values, request, response *document.Value, body []byte) {
	s.seen++
	var in []scalar
	for i, v := range wildcards {
		in = append(in, scalar{name: "path " + strconv.Itoa(i), text: v})
	}
	for _, name := range sortedNames(query) {
		if v := query[name]; len(v) == 1 {
			in = append(in, scalar{"query " + name, "float(query[" + document.Quote(name) + "])", v[0]})
		}
	}
	if request != nil {
		in = append(in, scalars(request, "request $", "request")...)
	}
	var out []scalar
	switch {
	case response != nil:
		out = scalars(response, "response $", "json")
	case len(body) <= pattern.MaxBytes:
		for _, t := range pattern.Tokens(string(body)) {
			if pattern.IsInteger(t) {
				out = append(out, scalar{"response", numberInBody, t})
				break
			}
		}
	}
	for _, a := range in[:min(len(in), maxScalars)] {
		for _, b := range out[:min(len(out), maxScalars)] {
			s.pair(a, b)
		}
	}
}

// numberInBody is compare.value's words for a body's first number.
const numberInBody = "number in the body"

func scalars(v *document.Value, name, cel string) []scalar {
	var out []scalar
	for i, k := range v.Keys {
		if item := &v.Items[i]; item.Kind == document.Number || item.Kind == document.Text {
			out = append(out, scalar{name + contract.PathStep(k), cel + contract.PathStep(k), item.Text})
		}
	}
	return out
}

func (s *echoes) pair(a, b scalar) {
	k := [2]string{a.name + "\x00" + a.cel, b.name + "\x00" + b.cel}
	p := upTo(&s.pairs, k, maxScalars*maxScalars)
	if p == nil {
		return
	}
	if p.n++; p.n == 1 {
		p.first = a.text
	}
	p.varied = p.varied || a.text != p.first
	if a.text == b.text {
		p.equal++
	}
	x, errX := strconv.ParseFloat(a.text, 64)
	y, errY := strconv.ParseFloat(b.text, 64)
	if errX != nil || errY != nil || x == 0 || math.IsInf(x, 0) || math.IsInf(y, 0) || math.IsNaN(x) || math.IsNaN(y) {
		return
	}
	if p.numbers == 0 {
		p.low, p.high = x, x
	}
	p.numbers++
	p.low, p.high = min(p.low, x), max(p.high, x)
	d := y/x - p.mean
	p.mean += d / float64(p.numbers)
	p.squares += d * (y/x - p.mean)
}

// grows reports whether the response's number is the request's times a constant
// factor, within a tenth, over requests of which the largest is at least twice
// the smallest.
func (p *echo) grows() bool {
	if p.numbers < 8 || p.numbers < p.n*9/10 || p.low <= 0 || p.high < 2*p.low || p.equal == p.n || p.mean == 0 {
		return false
	}
	return math.Sqrt(p.squares/float64(p.numbers)) < math.Abs(p.mean)/10
}

func (p *echo) evidence() string {
	spread := math.Sqrt(p.squares/float64(p.numbers)) / math.Abs(p.mean)
	return fmt.Sprintf("the ratio is %.4g in the mean over %d exchanges, with a standard deviation of %.1f %%, for requests from %.10g to %.10g",
		p.mean, p.numbers, 100*spread, p.low, p.high)
}
