package infer

import (
	"math"

	"whittle/contract"
	"whittle/contract/infer/pattern"
	"whittle/contract/infer/shape"
)

// param is what was seen of a place outside JSON: a wildcard of the path, a
// query parameter, a pair of a form, a hole in a text.
type param struct {
	// seen counts the exchanges that had it, n its values, repeated the
	// exchanges with more than one of them.
	seen, n, repeated int
	ints, bools       int
	low, high         int64
	text              shape.Texts
}

// see takes the values of one exchange.
func (p *param) see(values ...string) {
	p.seen++
	if len(values) > 1 {
		p.repeated++
	}
	for _, v := range values {
		p.n++
		p.text.See(v)
		if i, ok := pattern.PlainInt(v); ok {
			if p.ints == 0 {
				p.low, p.high = math.MaxInt64, math.MinInt64
			}
			p.ints++
			p.low, p.high = min(p.low, i), max(p.high, i)
		}
		if v == "true" || v == "false" {
			p.bools++
		}
	}
}

func (p *param) absorb(o *param) {
	if o.ints > 0 {
		if p.ints == 0 {
			p.low, p.high = o.low, o.high
		}
		p.low, p.high = min(p.low, o.low), max(p.high, o.high)
	}
	p.seen += o.seen
	p.n += o.n
	p.repeated += o.repeated
	p.ints += o.ints
	p.bools += o.bools
	p.text.Absorb(&o.text)
}

// params are those of one kind that an endpoint has, by name.
type params struct {
	by    map[string]*param
	names []string // in the order in which they came first
	// more counts the values whose name was one too many.
	more int
}

// maxParams bounds the names of an endpoint's query, and of its form.
const maxParams = 64

func (p *params) see(name string, values []string) {
	if q := p.of(name); q != nil {
		q.see(values...)
	} else {
		p.more++
	}
}

// of gives the one of a name, nil where there is no room for it, or none can be.
func (p *params) of(name string) *param {
	if contract.OddKey(name) {
		return nil
	}
	q := upTo(&p.by, name, maxParams)
	if len(p.names) < len(p.by) {
		p.names = append(p.names, name)
	}
	return q
}

// upTo gives what a map has at a key, made where there is none and the map has less
// than so many; nil: it is full.
func upTo[K comparable, V any](m *map[K]*V, key K, most int) *V {
	v := (*m)[key]
	if v == nil && len(*m) < most {
		if *m == nil {
			*m = map[K]*V{}
		}
		v = new(V)
		(*m)[key] = v
	}
	return v
}

func (p *params) absorb(o *params) {
	p.more += o.more
	for _, name := range o.names {
		if q := p.of(name); q != nil {
			q.absorb(o.by[name])
		} else {
			p.more += o.by[name].seen
		}
	}
}
