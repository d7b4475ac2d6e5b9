package jsondiff

import (
	"bytes"
	"cmp"
	"math"
	"regexp"
	"slices"
	"strconv"

	"whittle"
	"whittle/carve/compare/display"
	"whittle/carve/compare/jsondoc"
	"whittle/internal/jsonpath"
)

// MaxSteps bounds the values looked at in one pair of bodies.
const MaxSteps = 1 << 22

// Differ lists how two bodies differ. It compares JSON texts by structure and value: the order of members
// does not matter, that of elements does unless declared otherwise, and numbers are the same if their
// values are. Other bodies, and all in an exact comparison, it compares byte by byte. It reuses its memory.
type Differ struct {
	ignore, unordered []jsonpath.Path
	tolerance         float64
	whole             bool             // bodies are never taken for JSON
	masks             []*regexp.Regexp // what is not compared in texts
	// AnyNumber says that all numbers are the same.
	AnyNumber bool
	// AsText says that the bodies were sent as text, where a single value, such as 1.0, only equals one
	// that is written alike.
	AsText bool
	// Quiet says that nobody reads the words From and To of a difference.
	Quiet  bool
	expect []expectation
	Show   *display.View

	a, b  jsondoc.Document
	probe jsondoc.Document // of masked
	trail []jsondoc.Place
	// trails has the trails of differences one after the other.
	trails []jsondoc.Place
	// nodes are the values at hand, none for a side without one.
	nodes      [2]uint32
	out        []Difference
	pattern    []byte
	steps      int
	members    []member // a stack: each object at hand has its part
	items      []item   // likewise for arrays
	bufA, bufB []byte
	columns    map[uint64]uint64
	suspects   map[uint64]bool
}

// NewDiffer compiles a comparison's rules, with the declarations for some kinds of findings.
func NewDiffer(c whittle.Comparison, kinds ...whittle.FindingKind) (*Differ, error) {
	expect, err := expectations(c, kinds)
	if err != nil {
		return nil, err
	}
	ignore, err := jsondoc.ParsePaths("compare.ignore", c.Ignore)
	if err != nil {
		return nil, err
	}
	unordered, err := jsondoc.ParsePaths("compare.unordered", c.Unordered)
	if err != nil {
		return nil, err
	}
	if !(c.Tolerance >= 0 && c.Tolerance < 1) {
		return nil, whittle.Errorf(whittle.Invalid, "tolerance %v is not within 0 and 1", c.Tolerance).
			WithField("compare.tolerance").WithHint("write the relative difference that does not matter, such as 1e-9")
	}
	masks, err := masksOf(c.IgnoreText)
	if err != nil {
		return nil, err
	}
	return &Differ{
		whole: c.Kind == whittle.Exact, masks: masks,
		ignore: ignore, unordered: unordered, tolerance: c.Tolerance, expect: expect,
		columns: map[uint64]uint64{}, suspects: map[uint64]bool{},
	}, nil
}

// Declared is how many differences are declared.
func (j *Differ) Declared() int { return len(j.expect) }

// Diff gives the differences of two bodies that are not the same bytes, until the next call.
func (j *Differ) Diff(monolith, candidate []byte) []Difference {
	j.out, j.trail, j.members, j.items = j.out[:0], j.trail[:0], j.members[:0], j.items[:0]
	j.trails, j.steps, j.nodes = j.trails[:0], 0, noNodes
	if monolith, candidate = j.masked(monolith), j.masked(candidate); j.whole {
		j.texts(HowBytes, monolith, candidate)
		return j.out
	}
	ra, rb := j.a.Scan(monolith), j.b.Scan(candidate)
	switch {
	case ra == jsondoc.Scanned && rb == jsondoc.Scanned:
		if j.value(0, 0); j.AsText && len(j.out) == 0 && j.written() {
			j.report(HowValue, monolith, candidate, "", "")
		}
		if j.steps >= MaxSteps {
			j.trail, j.nodes = j.trail[:0], noNodes
			j.report(HowLimit, nil, nil, "JSON", "JSON")
		}
	case ra == jsondoc.NotJSON || rb == jsondoc.NotJSON:
		j.texts(HowSyntax, monolith, candidate)
	default:
		j.report(HowLimit, monolith, candidate, "JSON", "JSON")
	}
	return j.out
}

// written reports whether both texts are single values that can only differ in how they are written.
func (j *Differ) written() bool {
	return !j.AnyNumber && j.tolerance == 0 && j.a.Nodes[0].Kind < jsondoc.Array && j.b.Nodes[0].Kind < jsondoc.Array
}

// done reports whether the bound on steps is reached.
func (j *Differ) done() bool { return j.steps >= MaxSteps }

// value compares node x of a with node y of b.
func (j *Differ) value(x, y uint32) {
	if j.steps++; j.done() {
		return
	}
	j.nodes = [2]uint32{x, y}
	s, t := j.a.Text(x), j.b.Text(y)
	if bytes.Equal(s, t) {
		return
	}
	p, q := j.a.Nodes[x].Kind, j.b.Nodes[y].Kind
	if p != q {
		j.report(HowType+" "+jsondoc.KindNames[min(p, q)]+"/"+jsondoc.KindNames[max(p, q)], s, t, "", "")
		return
	}
	switch p {
	case jsondoc.Object:
		j.objects(x, y)
	case jsondoc.Array:
		j.arrays(x, y)
	case jsondoc.Number:
		if !j.AnyNumber && !j.sameNumber(s, t) {
			j.report(HowValue, s, t, "", "")
		}
	case jsondoc.String:
		if !j.sameString(&j.a, &j.b, x, y) {
			j.report(HowValue, s, t, "", "")
		}
	default:
		j.report(HowValue, s, t, "", "")
	}
}

// report adds a difference at the present place, unless a rule ignores it. from and to are the values;
// words replace them where given.
func (j *Differ) report(how string, from, to []byte, fromWords, toWords string) {
	if jsonpath.AnyCovers(j.ignore, j.trail) {
		return
	}
	if len(j.out) > MaxPerBody {
		return
	}
	j.pattern = jsondoc.AppendPattern(j.pattern[:0], j.trail)
	d := Difference{How: how, From: fromWords, To: toWords, nodes: j.nodes, Expect: -1}
	if len(j.expect) > 0 {
		a, b := cmp.Or(fromWords, display.Visible(from, display.ValueShown)), cmp.Or(toWords, display.Visible(to, display.ValueShown))
		d.Expect, d.Reversed = j.declares(from, to, a, b), j.declares(to, from, b, a) >= 0
	}
	for i := range j.out {
		if o := &j.out[i]; o.Path == string(j.pattern) && o.How == how && o.Expect == d.Expect {
			o.Times++
			o.Reversed = o.Reversed || d.Reversed
			return
		}
	}
	if len(j.out) == MaxPerBody { // the choice of those left out must not pass for noise
		j.out = append(j.out, Difference{Path: ManyPaths, How: HowMore, From: "differs", To: "differs", Expect: -1})
		return
	}
	if !j.Quiet {
		d.From, d.To = j.words(fromWords, from), j.words(toWords, to)
		at := len(j.trails)
		j.trails = append(j.trails, j.trail...)
		d.trail = j.trails[at:]
	}
	if how != HowBytes {
		d.Path = string(j.pattern)
	}
	d.Times = 1
	j.out = append(j.out, d)
}

// words are those given for a value, or the value itself.
func (j *Differ) words(given string, value []byte) string {
	if given != "" {
		return given
	}
	return j.Show.Value(j.trail, value)
}

// Values are the values at a difference that Diff has just given, nil where there is none.
func (j *Differ) Values(d *Difference, monolith, candidate []byte) (from, to []byte) {
	if d.nodes == noNodes {
		return j.masked(monolith), j.masked(candidate)
	}
	if x := d.nodes[0]; x != jsondoc.None {
		from = j.a.Text(x)
	}
	if y := d.nodes[1]; y != jsondoc.None {
		to = j.b.Text(y)
	}
	return from, to
}

// Spot is the place, in words, of a difference that Diff has just given.
func (j *Differ) Spot(d *Difference) display.Spot {
	s := display.Spot{Where: cmp.Or(d.At, j.where(d.trail)), From: d.From, To: d.To}
	if d.nodes != noNodes && d.How != HowLength && d.How != HowOrder {
		from, to := j.Values(d, nil, nil)
		s.From, s.To = j.there(from, d.trail), j.there(to, d.trail)
	}
	return s
}

const noValue = "missing"

// there is the value at a place.
func (j *Differ) there(value []byte, trail []jsondoc.Place) string {
	if value == nil {
		return noValue
	}
	return j.Show.Bounded(trail, value, display.BodyShown)
}

// where writes a trail with its real indices and keys.
func (j *Differ) where(trail []jsondoc.Place) string {
	b := []byte{'$'}
	for _, at := range trail {
		if at.Key == nil {
			b = append(strconv.AppendInt(append(b, '['), int64(at.Index), 10), ']')
			continue
		}
		key := []byte(j.Show.Kept(nil, string(at.Key[:min(len(at.Key), display.KeyShown)])))
		if jsondoc.PlainKey(key) {
			b = append(append(b, '.'), key...)
		} else {
			b = append(strconv.AppendQuote(append(b, '['), display.Visible(key, display.KeyShown)), ']')
		}
	}
	return string(b)
}

// member is a member of an object at hand.
type member struct {
	key  []byte
	node uint32 // of the value
}

// objects compares two objects: side by side where the keys come in the same order, as a rule, and by
// sorted keys otherwise.
func (j *Differ) objects(x, y uint32) {
	if !j.sameKeys(x, y) {
		j.merge(x, y)
		return
	}
	for i, k := x+1, y+1; i < j.a.Nodes[x].Next && !j.done(); {
		j.trail = append(j.trail, jsondoc.Place{Key: j.a.Key(i)})
		j.value(i+1, k+1)
		j.trail = j.trail[:len(j.trail)-1]
		i, k = j.a.Nodes[i+1].Next, j.b.Nodes[k+1].Next
	}
}

// sameKeys reports whether two objects have the same keys in the same order.
func (j *Differ) sameKeys(x, y uint32) bool {
	if j.a.Nodes[x].Count != j.b.Nodes[y].Count {
		return false
	}
	for i, k := x+1, y+1; i < j.a.Nodes[x].Next; {
		if !j.sameString(&j.a, &j.b, i, k) {
			return false
		}
		i, k = j.a.Nodes[i+1].Next, j.b.Nodes[k+1].Next
	}
	return true
}

// push puts an object's members, sorted by key, on the stack of members.
func (j *Differ) push(d *jsondoc.Document, x uint32) (from, to int) {
	from = len(j.members)
	for i := x + 1; i < d.Nodes[x].Next; i = d.Nodes[i+1].Next {
		j.members = append(j.members, member{d.Key(i), i + 1})
	}
	slices.SortStableFunc(j.members[from:], func(a, b member) int { return bytes.Compare(a.key, b.key) })
	j.steps += len(j.members) - from
	return from, len(j.members)
}

// merge compares two objects whose keys differ or come in another order. A key given twice is compared
// occurrence by occurrence.
func (j *Differ) merge(x, y uint32) {
	i, endA := j.push(&j.a, x)
	k, endB := j.push(&j.b, y)
	base := i
	for (i < endA || k < endB) && !j.done() {
		order := 1
		if k == endB {
			order = -1
		} else if i < endA {
			order = bytes.Compare(j.members[i].key, j.members[k].key)
		}
		switch {
		case order == 0:
			j.trail = append(j.trail, jsondoc.Place{Key: j.members[i].key})
			j.value(j.members[i].node, j.members[k].node)
			i, k = i+1, k+1
		case order < 0:
			j.nodes = [2]uint32{j.members[i].node, jsondoc.None}
			j.lone(&j.members[i], HowMissing)
			i++
		default:
			j.nodes = [2]uint32{jsondoc.None, j.members[k].node}
			j.lone(&j.members[k], HowExtra)
			k++
		}
		j.trail = j.trail[:len(j.trail)-1]
	}
	j.members = j.members[:base]
}

// lone reports a member that only one side has. It leaves the trail with it.
func (j *Differ) lone(m *member, how string) {
	if j.trail = append(j.trail, jsondoc.Place{Key: m.key}); how == HowMissing {
		j.report(how, j.a.Text(m.node), nil, "", noValue)
	} else {
		j.report(how, nil, j.b.Text(m.node), noValue, "")
	}
}

// sameNumber compares two valid JSON numbers by value, without rounding, or by their relative difference
// where tolerance is above 0.
func (j *Differ) sameNumber(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var bufA, bufB [64]byte
	x, y := jsondoc.ParseDecimal(bufA[:0], a), jsondoc.ParseDecimal(bufB[:0], b)
	if x.Negative == y.Negative && x.Exp == y.Exp && bytes.Equal(x.Digits, y.Digits) {
		return true
	}
	return j.tolerance > 0 && within(a, b, j.tolerance)
}

// within reports |a−b| ≤ tolerance·max(|a|, |b|).
func within(a, b []byte, tolerance float64) bool {
	x, errX := strconv.ParseFloat(string(a), 64)
	y, errY := strconv.ParseFloat(string(b), 64)
	return errX == nil && errY == nil && math.Abs(x-y) <= tolerance*max(math.Abs(x), math.Abs(y))
}

// sameString compares two strings by their meaning.
func (j *Differ) sameString(a, b *jsondoc.Document, x, y uint32) bool {
	s, t := a.Text(x), b.Text(y)
	if bytes.Equal(s, t) {
		return true
	}
	if !a.Nodes[x].Escaped && !b.Nodes[y].Escaped {
		return false
	}
	j.bufA, _ = jsondoc.Unquote(j.bufA[:0], s)
	j.bufB, _ = jsondoc.Unquote(j.bufB[:0], t)
	return bytes.Equal(j.bufA, j.bufB)
}
