package jsondiff

import (
	"strconv"

	"whittle/carve/compare/display"
	"whittle/carve/compare/jsondoc"
)

// Spot is the place of one of the differences that Diff has just given of the two bodies.
func (j *Differ) Spot(d *Difference, monolith, candidate []byte) display.Spot {
	from, to, ok := j.Sides(d)
	if !ok {
		return textSpot(j.Show, j.masked(monolith), j.masked(candidate))
	}
	trail := from.trail
	if from.node == jsondoc.None {
		trail = to.trail
	}
	s := display.Spot{Where: j.where(trail), From: j.there(&from, trail), To: j.there(&to, trail)}
	if d.How == HowLength || d.How == HowOrder {
		s.From, s.To = d.From, d.To
	}
	return s
}

// where writes a trail with its real indices and keys.
func (j *Differ) where(trail []jsondoc.Place) string {
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
func (j *Differ) there(s *Side, trail []jsondoc.Place) string {
	if s.node == jsondoc.None {
		return noValue
	}
	return j.Show.Bounded(trail, s.Doc.Text(s.node), display.BodyShown)
}
