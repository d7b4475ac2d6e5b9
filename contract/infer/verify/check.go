// Package verify proves a contract on recorded exchanges: the gateway's own translation
// takes each request without a loss, and makes each response again of its message.
package verify

import (
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"

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
	// Path is "request", "response" or "response $.items[*].price".
	Path string
	Why  string
	// Count of the exchanges.
	Count int
}

// maxBroken bounds the places that a proof lists.
const maxBroken = 100

// Check sends every exchange through the contract's messages. A request must lose nothing
// in its message. A response must come back: JSON as the same JSON value, a text byte by
// byte.
func Check(entries iter.Seq2[*capture.Entry, error], c *contract.Contract) (*Proof, error) {
	k := &checker{broken: map[[2]string]*Break{}}
	var err error
	if k.methods, err = methodsOf(c); err != nil {
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

// checker checks exchanges.
type checker struct {
	methods []*method
	p       Proof
	broken  map[[2]string]*Break
}

// method returns the one of an exchange: of several that match, the one with
// the most literals.
func (k *checker) method(name string, path []string) *method {
	var best *method
	literals := -1
	for _, m := range k.methods {
		if m.HTTP.Method == name && pattern.Matches(m.segments, path) && pattern.Literals(m.segments) > literals {
			best, literals = m, pattern.Literals(m.segments)
		}
	}
	return best
}

func (k *checker) see(x *capture.Entry) {
	path, query, ok := pattern.Target(x.Request.Target)
	if !ok || x.Served == whittle.Candidate || x.Request.Truncated || x.Response.Truncated || x.Response.Failure != whittle.NoFailure {
		return
	}
	m := k.method(x.Request.Method, path)
	if m == nil || x.Response.Status != m.HTTP.Response.Status {
		return
	}
	k.p.Exchanges++
	asked, responded := m.asks(&x.Request, query), m.responds(x.Response.Body)
	if asked == nil && responded == nil {
		k.p.Kept++
	}
	k.broke(m, "request", asked)
	k.broke(m, "response", responded)
}

func (k *checker) broke(m *method, label string, err error) {
	if err == nil {
		return
	}
	path, why := label, strings.TrimPrefix(err.Error(), "translate request: ")
	if d, ok := errors.AsType[differs](err); ok {
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

func (k *checker) proof() *Proof {
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
