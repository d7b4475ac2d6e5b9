package jsondiff

import (
	"bytes"
	"strconv"

	"whittle/carve/compare/display"
	"whittle/carve/compare/jsondoc"
)

// Spot implements differ. It holds until the next comparison.
func (j *JSON) Spot(d *Difference, monolith, candidate []byte) display.Spot {
	from, to, ok := j.Sides(d)
	if !ok {
		return TextSpot(j.Show, monolith, candidate)
	}
	var s display.Spot
	has := &from
	if from.node == jsondoc.None {
		has = &to
	}
	s.Where = j.where(has.trail)
	s.From, s.To = j.there(&from, has.trail), j.there(&to, has.trail)
	if d.How == HowLength || d.How == HowOrder {
		at := j.firstOther(&from, &to)
		s.From, s.To = d.From, d.To
		s.FromAround, s.ToAround = j.elements(&from, at), j.elements(&to, at)
		return s
	}
	keys := has.neighbours()
	s.FromAround, s.ToAround = j.around(&from, has, keys), j.around(&to, has, keys)
	return s
}

// where writes a trail with its real indices and keys.
func (j *JSON) where(trail []jsondoc.Place) string {
	b := []byte{'$'}
	for _, at := range trail {
		if at.Key == nil {
			b = append(strconv.AppendInt(append(b, '['), int64(at.Index), 10), ']')
			continue
		}
		key := []byte(j.Show.Kept(nil, string(at.Key[:min(len(at.Key), display.ValueShown)])))
		if jsondoc.PlainKey(key) {
			b = append(append(b, '.'), key...)
		} else {
			b = append(strconv.AppendQuote(append(b, '['), display.Visible(key, display.ValueShown)), ']')
		}
	}
	return string(b)
}

// there is the value at the place.
func (j *JSON) there(s *Side, trail []jsondoc.Place) string {
	if s.node == jsondoc.None {
		return noValue
	}
	return j.Show.Bounded(trail, s.Doc.Text(uint32(s.node)), spotShown)
}

// firstOther is the first number at which two arrays have other elements.
func (j *JSON) firstOther(a, b *Side) int {
	x, y := a.Doc.Elements(a.node), b.Doc.Elements(b.node)
	for i := range min(len(x), len(y)) {
		if !bytes.Equal(a.Doc.Text(x[i]), b.Doc.Text(y[i])) {
			return i
		}
	}
	return min(len(x), len(y))
}

// elements shows the elements of an array about a number.
func (j *JSON) elements(s *Side, at int) string {
	list := s.Doc.Elements(s.node)
	var parts []string
	low, high := max(0, at-1), min(len(list), at+2*aroundEach)
	for i := low; i < high; i++ {
		trail := append(s.trail[:len(s.trail):len(s.trail)], jsondoc.Place{Index: i})
		parts = append(parts, j.Show.Bounded(trail, s.Doc.Text(list[i]), 2*nearShown))
	}
	return enclosed('[', parts, low > 0, high < len(list), ']')
}

// enclosed joins parts to something like {…, "a": 1, …}.
func enclosed(open byte, parts []string, before, after bool, end byte) string {
	b := []byte{open}
	if before {
		b = append(b, "…, "...)
	}
	for i, p := range parts {
		if i > 0 {
			b = append(b, ", "...)
		}
		if len(b)+len(p) > aroundShown {
			after = true
			break
		}
		b = append(b, p...)
	}
	if after {
		b = append(b, ", …"...)
	}
	return string(append(b, end))
}

// around shows what stands next to the place on one side: the members with those
// keys, or the elements about it.
func (j *JSON) around(s, has *Side, keys map[string]bool) string {
	if s.parent < 0 {
		return ""
	}
	n := &s.Doc.Nodes[s.parent]
	base := has.trail[:max(0, len(has.trail)-1)]
	if n.Kind != jsondoc.Object {
		return j.elements(&Side{Doc: s.Doc, node: s.parent, trail: base}, s.nth)
	}
	var parts []string
	left, before, after := 0, false, false
	for i := uint32(s.parent) + 1; i < n.Next; i = s.Doc.Nodes[i+1].Next {
		key := s.Doc.Key(i)
		if !keys[string(key)] {
			left++
			before, after = before || len(parts) == 0, after || len(parts) > 0
			continue
		}
		most := nearShown
		if int32(i+1) == s.node {
			most = spotShown
		}
		trail := append(base[:len(base):len(base)], jsondoc.Place{Key: key})
		parts = append(parts, j.Show.Bounded(nil, s.Doc.Text(i), nearShown)+": "+j.Show.Bounded(trail, s.Doc.Text(i+1), most))
	}
	return enclosed('{', parts, before, after, '}')
}
