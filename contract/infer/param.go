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
	q := p.by[name]
	if q == nil {
		if len(p.names) == maxParams || contract.OddKey(name) {
			p.more++
			return
		}
		q = &param{}
		p.add(name, q)
	}
	q.see(values...)
}

func (p *params) add(name string, q *param) {
	if p.by == nil {
		p.by = map[string]*param{}
	}
	p.by[name] = q
	p.names = append(p.names, name)
}

func (p *params) absorb(o *params) {
	p.more += o.more
	for _, name := range o.names {
		q := p.by[name]
		if q == nil {
			if len(p.names) == maxParams {
				p.more += o.by[name].seen
				continue
			}
			q = &param{}
			p.add(name, q)
		}
		q.absorb(o.by[name])
	}
}
