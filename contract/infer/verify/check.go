// Package verify proves a contract on recorded exchanges: each is converted to
// the messages of the contract, over the wire and back, and must come back the
// same.
package verify

import (
	"errors"
	"iter"
	"maps"
	"slices"

	"whittle"
	"whittle/contract"
	"whittle/contract/infer/pattern"
	"whittle/record/capture"
)

// Proof is the result of sending exchanges through a contract.
type Proof struct {
	// Exchanges counts those that belong to one of the contract's methods and
	// succeeded; Kept of them came back the same.
	Exchanges, Kept int
	// Broken lists the places that did not come back the same, one of each.
	Broken []Break
}

// Break is a place at which an exchange changes on its way through the
// contract's messages.
type Break struct {
	Method string
	// Path is "request $.a", "response $.items[*].price", "query page".
	Path string
	Why  string
	// Count of the exchanges.
	Count int
}

// maxBroken bounds the places that a proof lists.
const maxBroken = 100

// Check converts every exchange to the contract's messages, over the wire, and
// back, and compares. JSON must come back as the same JSON value, a text byte
// by byte, a path and a query with the same values.
func Check(entries iter.Seq2[*capture.Entry, error], c *contract.Contract) (*Proof, error) {
	k, err := New(c)
	if err != nil {
		return nil, err
	}
	for x, err := range entries {
		if err != nil {
			return nil, err
		}
		k.see(x)
	}
	return k.proof(), nil
}

// Checker checks a contract against exchanges.
type Checker struct {
	mapping *mapping
	methods []*Checked
	p       Proof
	broken  map[[2]string]*Break
}

// Checked is a method of the contract, ready to be checked.
type Checked struct {
	*contract.Method

	segments          []pattern.Segment
	request, response *trip
}

// New makes a checker of a contract. It fails where a pattern, or the
// descriptor of the messages, cannot be read.
func New(c *contract.Contract) (*Checker, error) {
	m, err := newMapping(c)
	if err != nil {
		return nil, err
	}
	k := &Checker{mapping: m, broken: map[[2]string]*Break{}}
	for i := range c.Methods {
		method := &c.Methods[i]
		segments, ok := pattern.Parse(method.HTTP.Pattern)
		if !ok {
			return nil, whittle.Errorf(whittle.Unsupported, "check contract: %s has the pattern %q", method.Name, method.HTTP.Pattern)
		}
		k.methods = append(k.methods, &Checked{
			Method: method, segments: segments,
			request: m.trip(method.HTTP.Body.Unset), response: m.trip(method.HTTP.Response.Unset),
		})
	}
	return k, nil
}

// Method returns the method of an exchange: of several that match, the one with
// the most literals.
func (k *Checker) Method(method string, path []string) *Checked {
	var best *Checked
	literals := -1
	for _, m := range k.methods {
		if m.HTTP.Method == method && pattern.Matches(m.segments, path) && pattern.Literals(m.segments) > literals {
			best, literals = m, pattern.Literals(m.segments)
		}
	}
	return best
}

func (k *Checker) see(x *capture.Entry) {
	path, query, ok := pattern.Target(x.Request.Target)
	if !ok || x.Served == whittle.Candidate || x.Request.Truncated || x.Response.Truncated || x.Response.Failure != whittle.NoFailure {
		return
	}
	m := k.Method(x.Request.Method, path)
	if m == nil || x.Response.Status != m.HTTP.Response.Status {
		return
	}
	k.p.Exchanges++
	errQuery := k.request(m, path, query, x)
	errResponse := k.response(m, x)
	if errQuery == nil && errResponse == nil {
		k.p.Kept++
	}
	k.broke(m, "request", errQuery)
	k.broke(m, "response", errResponse)
}

func (k *Checker) broke(m *Checked, label string, err error) {
	if err == nil {
		return
	}
	path, why := label, err.Error()
	var d differs
	if errors.As(err, &d) {
		path, why = label+" "+string(d), "it came back as another value"
	}
	id := [2]string{m.Name, path}
	b := k.broken[id]
	if b == nil {
		if len(k.broken) == maxBroken {
			return
		}
		b = &Break{Method: m.Name, Path: path, Why: why}
		k.broken[id] = b
	}
	b.Count++
}

func (k *Checker) proof() *Proof {
	p := k.p
	for _, id := range slices.SortedFunc(maps.Keys(k.broken), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		p.Broken = append(p.Broken, *k.broken[id])
	}
	return &p
}

// differs is the path at which a JSON value came back as another one.
type differs string

// Error names the path.
func (d differs) Error() string { return string(d) + " differs" }
