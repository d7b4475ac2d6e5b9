package compare

import (
	"bytes"
	"fmt"
	"strconv"
)

const (
	spotShown   = 120 // bytes of a value at the place that differs
	nearShown   = 32  // bytes of a value beside it
	aroundShown = 240 // bytes of all that stands around it
	aroundEach  = 2   // members or elements before and after
	noValue     = "missing"
)

// spot is where an exchange differs, fit to be shown.
type spot struct {
	where                string
	from, to             string
	fromAround, toAround string
}

// spot implements differ.
func (e *exact) spot(_ *difference, monolith, candidate []byte) spot {
	return textSpot(e.show, monolith, candidate)
}

// textSpot is the first place at which two texts differ.
func textSpot(show *display, monolith, candidate []byte) spot {
	at := firstDifference(monolith, candidate)
	line := 1 + bytes.Count(monolith[:at], []byte{'\n'})
	column := at - bytes.LastIndexByte(monolith[:at], '\n')
	s := spot{where: fmt.Sprintf("byte %d, line %d, column %d", at, line, column)}
	a, b, ok := show.bodies(monolith, candidate)
	if !ok {
		return s
	}
	at = firstDifference(a, b)
	x, y := wordsAt(a, b, at)
	s.from, s.to = spelt(x), spelt(y)
	s.fromAround, s.toAround = around(a, at), around(b, at)
	return s
}

func spelt(b []byte) string {
	if len(b) == 0 {
		return noValue
	}
	return visible(b, spotShown)
}

// around is the text before and after a place.
func around(b []byte, at int) string {
	const reach = aroundShown / 3
	low, high := max(0, at-reach), min(len(b), at+reach)
	s := visible(b[low:high], aroundShown)
	if low > 0 {
		s = "…" + s
	}
	if high < len(b) {
		s += "…"
	}
	return s
}

// wordsAt gives the words that stand where two texts first differ, or what else
// does where that is not a word on both sides.
func wordsAt(a, b []byte, at int) (x, y []byte) {
	low := at
	for low > 0 && at-low < spotShown && inWord(a[low-1]) {
		low--
	}
	endA, endB := runEnd(a, at, true), runEnd(b, at, true)
	const few = 12
	switch {
	case endA == at && endB == at: // what stands between words
		return a[low:runEnd(a, at, false)], b[low:runEnd(b, at, false)]
	case low == at && (endA == at || endB == at):
		return a[at:min(len(a), at+few)], b[at:min(len(b), at+few)]
	}
	return a[low:endA], b[low:endB]
}

// runEnd is where the run of bytes ends that are in words, or are not.
func runEnd(b []byte, i int, words bool) int {
	for end := min(len(b), i+spotShown); i < end && inWord(b[i]) == words; i++ {
	}
	return i
}

// inWord reports whether a byte belongs to a word, a number, a time or an escape
// such as &amp;.
func inWord(c byte) bool {
	switch {
	case c >= 0x80, c >= '0' && c <= '9', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
		return true
	}
	return bytes.IndexByte([]byte("._:+-%&;#$@~\\"), c) >= 0
}

// spot implements differ. It holds until the next comparison.
func (j *jsonDiffer) spot(d *difference, monolith, candidate []byte) spot {
	if d.nodes == noNodes {
		return textSpot(j.show, monolith, candidate)
	}
	var s spot
	from, to := side{doc: &j.a, node: d.nodes[0], parent: d.parents[0]}, side{doc: &j.b, node: d.nodes[1], parent: d.parents[1]}
	from.find()
	to.find()
	has := &from
	if from.node == none {
		has = &to
	}
	s.where = j.where(has.trail)
	s.from, s.to = j.there(&from, has.trail), j.there(&to, has.trail)
	if d.how == howLength || d.how == howOrder {
		at := j.firstOther(&from, &to)
		s.from, s.to = d.from, d.to
		s.fromAround, s.toAround = j.elements(&from, at), j.elements(&to, at)
		return s
	}
	keys := has.neighbours()
	s.fromAround, s.toAround = j.beside(&from, has, keys), j.beside(&to, has, keys)
	return s
}

// none is the node of a side that lacks the value.
const none = -1

var noNodes = [2]int32{none, none}

// side is one side of a place in JSON.
type side struct {
	doc          *document
	node, parent int32
	trail        []place // of the node; of the parent where there is no node
	nth          int     // the node's number among the parent's values
	chain        []int32 // the nodes from the root to it
}

// find reads the trail from the document's root.
func (s *side) find() {
	target := s.node
	if target == none {
		target = s.parent
	}
	if target < 0 || int(target) >= len(s.doc.nodes) {
		return
	}
	s.chain = append(s.chain, 0)
	for cur := int32(0); cur != target; {
		child, at, nth := s.doc.childOver(cur, target)
		if child == none {
			return
		}
		s.trail, s.chain = append(s.trail, at), append(s.chain, child)
		if s.nth = nth; child == target && s.node != none {
			s.parent = cur
		}
		cur = child
	}
	if s.node == 0 {
		s.parent = none
	}
}

// childOver gives the value of a container in which a node lies, with its place
// and its number.
func (d *document) childOver(container, target int32) (child int32, at place, nth int) {
	n := &d.nodes[container]
	for i := uint32(container) + 1; i < n.next; nth++ {
		v := i
		if n.kind == kindObject {
			v++
		}
		if int32(v) <= target && uint32(target) < d.nodes[v].next {
			if n.kind == kindObject {
				return int32(v), place{Key: d.key(i)}, nth
			}
			return int32(v), place{Index: nth}, nth
		}
		i = d.nodes[v].next
	}
	return none, place{}, 0
}

// where writes a trail with its real indices and keys.
func (j *jsonDiffer) where(trail []place) string {
	b := []byte{'$'}
	for _, at := range trail {
		if at.Key == nil {
			b = append(strconv.AppendInt(append(b, '['), int64(at.Index), 10), ']')
			continue
		}
		key := []byte(j.show.kept(nil, string(at.Key[:min(len(at.Key), valueShown)])))
		if plainKey(key) {
			b = append(append(b, '.'), key...)
		} else {
			b = append(strconv.AppendQuote(append(b, '['), visible(key, valueShown)), ']')
		}
	}
	return string(b)
}

// there is the value at the place.
func (j *jsonDiffer) there(s *side, trail []place) string {
	if s.node == none {
		return noValue
	}
	return j.show.bounded(trail, s.doc.text(uint32(s.node)), spotShown)
}

// firstOther is the first number at which two arrays have other elements.
func (j *jsonDiffer) firstOther(a, b *side) int {
	x, y := a.doc.elements(a.node), b.doc.elements(b.node)
	for i := range min(len(x), len(y)) {
		if !bytes.Equal(a.doc.text(x[i]), b.doc.text(y[i])) {
			return i
		}
	}
	return min(len(x), len(y))
}

// elements are the nodes of an array's elements.
func (d *document) elements(array int32) []uint32 {
	n := &d.nodes[array]
	list := make([]uint32, 0, n.count)
	for i := uint32(array) + 1; i < n.next; i = d.nodes[i].next {
		list = append(list, i)
	}
	return list
}

// elements shows the elements of an array about a number.
func (j *jsonDiffer) elements(s *side, at int) string {
	list := s.doc.elements(s.node)
	var parts []string
	low, high := max(0, at-1), min(len(list), at+2*aroundEach)
	for i := low; i < high; i++ {
		trail := append(s.trail[:len(s.trail):len(s.trail)], place{Index: i})
		parts = append(parts, j.show.bounded(trail, s.doc.text(list[i]), 2*nearShown))
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

// neighbours are the keys beside a member, and its own.
func (s *side) neighbours() map[string]bool {
	if s.parent < 0 || s.doc.nodes[s.parent].kind != kindObject {
		return nil
	}
	keys, n, nth := map[string]bool{}, &s.doc.nodes[s.parent], 0
	for i := uint32(s.parent) + 1; i < n.next; i, nth = s.doc.nodes[i+1].next, nth+1 {
		if nth >= s.nth-aroundEach && nth <= s.nth+aroundEach {
			keys[string(s.doc.key(i))] = true
		}
	}
	return keys
}

// beside shows what stands beside the place on one side: the members with those
// keys, or the elements about it.
func (j *jsonDiffer) beside(s, has *side, keys map[string]bool) string {
	if s.parent < 0 {
		return ""
	}
	n := &s.doc.nodes[s.parent]
	base := has.trail[:max(0, len(has.trail)-1)]
	if n.kind != kindObject {
		return j.elements(&side{doc: s.doc, node: s.parent, trail: base}, s.nth)
	}
	var parts []string
	left, before, after := 0, false, false
	for i := uint32(s.parent) + 1; i < n.next; i = s.doc.nodes[i+1].next {
		key := s.doc.key(i)
		if !keys[string(key)] {
			left++
			before, after = before || len(parts) == 0, after || len(parts) > 0
			continue
		}
		most := nearShown
		if int32(i+1) == s.node {
			most = spotShown
		}
		trail := append(base[:len(base):len(base)], place{Key: key})
		parts = append(parts, j.show.bounded(nil, s.doc.text(i), nearShown)+": "+j.show.bounded(trail, s.doc.text(i+1), most))
	}
	return enclosed('{', parts, before, after, '}')
}
