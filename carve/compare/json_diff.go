package compare

import (
	"bytes"
	"fmt"
	"slices"

	"whittle"
	"whittle/internal/jsonpath"
)

// maxSteps bounds the work on one pair of bodies, in values looked at.
const maxSteps = 1 << 22

// jsonDiffer compares two JSON texts by structure and value: the order of
// members does not matter, the order of elements does unless declared
// otherwise, numbers are the same if their values are. It keeps its memory
// from one pair to the next.
type jsonDiffer struct {
	ignore, unordered []jsonpath.Path
	tolerance         float64
	// anyNumber says that all numbers are the same.
	anyNumber bool
	expect    expectations
	show      *display

	a, b  document
	trail []place
	// nodes are the values in hand, none where a side has none; parents the
	// objects that hold them, where a side has none.
	nodes, parents [2]int32
	out            []difference
	pattern        []byte
	steps          int
	// suppressed > 0: only whether there is a difference matters; found says so.
	suppressed int
	found      bool
	members    []member // a stack: each object in hand has its part
	items      []item   // likewise for arrays
	bufA, bufB []byte
	columns    map[uint64]uint64
	suspects   map[uint64]bool
}

// newJSONDiffer compiles the rules of a comparison.
func newJSONDiffer(c whittle.Comparison, expect expectations) (*jsonDiffer, error) {
	ignore, err := parsePaths("compare.ignore", c.Ignore)
	if err != nil {
		return nil, err
	}
	unordered, err := parsePaths("compare.unordered", c.Unordered)
	if err != nil {
		return nil, err
	}
	if !(c.Tolerance >= 0 && c.Tolerance < 1) {
		return nil, whittle.Errorf(whittle.Invalid, "tolerance %v is not within 0 and 1", c.Tolerance).
			WithField("compare.tolerance").WithHint("write the relative difference that does not matter, such as 1e-9")
	}
	return &jsonDiffer{
		ignore: ignore, unordered: unordered, tolerance: c.Tolerance, expect: expect,
		columns: map[uint64]uint64{}, suspects: map[uint64]bool{},
	}, nil
}

// diff implements differ. Equal bytes are the same whatever they hold.
func (j *jsonDiffer) diff(monolith, candidate []byte) []difference {
	if bytes.Equal(monolith, candidate) {
		return nil
	}
	j.out, j.trail, j.members, j.items = j.out[:0], j.trail[:0], j.members[:0], j.items[:0]
	j.steps, j.suppressed, j.found, j.nodes = 0, 0, false, noNodes
	ra, rb := j.a.scan(monolith), j.b.scan(candidate)
	switch {
	case ra == scanned && rb == scanned:
		j.value(0, 0)
		if j.steps >= maxSteps {
			j.trail, j.nodes = j.trail[:0], noNodes
			j.report(howLimit, nil, nil, "JSON", "JSON")
		}
	case ra == notJSON || rb == notJSON:
		j.report(howSyntax, monolith, candidate, j.shape(ra, monolith), j.shape(rb, candidate))
	default:
		j.report(howLimit, monolith, candidate, j.shape(ra, monolith), j.shape(rb, candidate))
	}
	return j.out
}

func (j *jsonDiffer) shape(r scanResult, b []byte) string {
	switch {
	case r == scanned:
		return "JSON"
	case r == outOfLimit:
		return fmt.Sprintf("more than %d levels or %d values", maxDepth, maxNodes)
	case len(b) == 0:
		return "empty"
	}
	return snippet([]byte(j.show.response(whittle.Response{Body: b})), valueShown)
}

// done reports whether going on can change nothing.
func (j *jsonDiffer) done() bool { return (j.suppressed > 0 && j.found) || j.steps >= maxSteps }

// value compares node x of a with node y of b.
func (j *jsonDiffer) value(x, y uint32) {
	if j.steps++; j.done() {
		return
	}
	j.nodes = [2]int32{int32(x), int32(y)}
	s, t := j.a.text(x), j.b.text(y)
	if bytes.Equal(s, t) {
		return
	}
	p, q := j.a.nodes[x].kind, j.b.nodes[y].kind
	if p != q {
		j.report(howType+" "+kindNames[min(p, q)]+"/"+kindNames[max(p, q)], s, t, "", "")
		return
	}
	switch p {
	case kindObject:
		j.objects(x, y)
	case kindArray:
		j.arrays(x, y)
	case kindNumber:
		if !j.anyNumber && !j.sameNumber(s, t) {
			j.report(howValue, s, t, "", "")
		}
	case kindString:
		if !j.sameString(&j.a, &j.b, x, y) {
			j.report(howValue, s, t, "", "")
		}
	default:
		j.report(howValue, s, t, "", "")
	}
}

// report adds a difference at the present place, unless a rule ignores it.
// from and to are the values; the words stand for them where given.
func (j *jsonDiffer) report(how string, from, to []byte, fromWords, toWords string) {
	if jsonpath.AnyCovers(j.ignore, j.trail) {
		return
	}
	if j.found = true; j.suppressed > 0 || len(j.out) > maxPerBody {
		return
	}
	j.pattern = appendPattern(j.pattern[:0], j.trail)
	d := difference{how: how, from: fromWords, to: toWords, nodes: j.nodes, parents: j.parents}
	if d.from == "" {
		d.from = visible(from, valueShown)
	}
	if d.to == "" {
		d.to = visible(to, valueShown)
	}
	d.expect = j.expect.find(j.trail, &d, from, to)
	if fromWords == "" {
		d.from = j.show.value(j.trail, from)
	}
	if toWords == "" {
		d.to = j.show.value(j.trail, to)
	}
	for i := range j.out {
		if o := &j.out[i]; o.path == string(j.pattern) && o.how == how && o.expect == d.expect {
			return
		}
	}
	if len(j.out) == maxPerBody { // which of the further ones are left out must not pass for noise
		j.out = append(j.out, difference{path: manyPaths, how: howMore, from: "differs", to: "differs", expect: -1})
		return
	}
	d.path = string(j.pattern)
	j.out = append(j.out, d)
}

// member is a member of an object in hand.
type member struct {
	key  []byte
	node uint32 // of the value
}

// objects compares two objects: side by side where the keys come in the same
// order, which is the rule, and by sorted keys otherwise.
func (j *jsonDiffer) objects(x, y uint32) {
	if !j.sameKeys(x, y) {
		j.merge(x, y)
		return
	}
	for i, k := x+1, y+1; i < j.a.nodes[x].next && !j.done(); {
		j.trail = append(j.trail, place{Key: j.key(&j.a, i)})
		j.value(i+1, k+1)
		j.trail = j.trail[:len(j.trail)-1]
		i, k = j.a.nodes[i+1].next, j.b.nodes[k+1].next
	}
}

// sameKeys reports whether two objects have the same keys in the same order.
func (j *jsonDiffer) sameKeys(x, y uint32) bool {
	if j.a.nodes[x].count != j.b.nodes[y].count {
		return false
	}
	for i, k := x+1, y+1; i < j.a.nodes[x].next; {
		if !j.sameString(&j.a, &j.b, i, k) {
			return false
		}
		i, k = j.a.nodes[i+1].next, j.b.nodes[k+1].next
	}
	return true
}

// key is what a key node stands for.
func (j *jsonDiffer) key(d *document, i uint32) []byte { return d.key(i) }

func (d *document) key(i uint32) []byte {
	quoted := d.text(i)
	if !d.nodes[i].escaped {
		return quoted[1 : len(quoted)-1 : len(quoted)-1]
	}
	s, _ := unquote(nil, quoted)
	return slices.Clip(s)
}

// push puts an object's members, sorted by key, on the stack of members.
func (j *jsonDiffer) push(d *document, x uint32) (from, to int) {
	from = len(j.members)
	for i := x + 1; i < d.nodes[x].next; i = d.nodes[i+1].next {
		j.members = append(j.members, member{j.key(d, i), i + 1})
	}
	slices.SortStableFunc(j.members[from:], func(a, b member) int { return bytes.Compare(a.key, b.key) })
	j.steps += len(j.members) - from
	return from, len(j.members)
}

// merge compares two objects whose keys differ or come in another order. A key
// that is given twice is compared occurrence by occurrence.
func (j *jsonDiffer) merge(x, y uint32) {
	i, endA := j.push(&j.a, x)
	k, endB := j.push(&j.b, y)
	base := i
	var last []byte // the key that both sides had last
	for (i < endA || k < endB) && !j.done() {
		var order int
		switch {
		case i == endA:
			order = 1
		case k == endB:
			order = -1
		default:
			order = bytes.Compare(j.members[i].key, j.members[k].key)
		}
		switch {
		case order == 0:
			last = j.members[i].key
			j.trail = append(j.trail, place{Key: last})
			j.value(j.members[i].node, j.members[k].node)
			i, k = i+1, k+1
		case order < 0:
			j.nodes, j.parents = [2]int32{int32(j.members[i].node), none}, [2]int32{int32(x), int32(y)}
			j.lone(&j.members[i], last, howMissing)
			i++
		default:
			j.nodes, j.parents = [2]int32{none, int32(j.members[k].node)}, [2]int32{int32(x), int32(y)}
			j.lone(&j.members[k], last, howExtra)
			k++
		}
		j.trail = j.trail[:len(j.trail)-1]
	}
	j.members = j.members[:base]
}

// lone reports a member that only one side has; the trail is left with it.
func (j *jsonDiffer) lone(m *member, last []byte, how string) {
	j.trail = append(j.trail, place{Key: m.key})
	d := &j.b
	if how == howMissing {
		d = &j.a
	}
	value := d.text(m.node)
	if last != nil && bytes.Equal(last, m.key) {
		j.report(howDuplicate, nil, nil, "given "+timesGiven(how == howMissing), "given "+timesGiven(how != howMissing))
		return
	}
	if how == howMissing {
		j.report(how, value, nil, "", "missing")
	} else {
		j.report(how, nil, value, "missing", "")
	}
}

func timesGiven(more bool) string {
	if more {
		return "more often"
	}
	return "less often"
}
