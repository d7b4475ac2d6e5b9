package jsondiff

import (
	"cmp"
	"slices"
	"strconv"

	"whittle/carve/compare/digest"
	"whittle/carve/compare/jsondoc"
	"whittle/internal/jsonpath"
)

// item is an element of an array at hand.
type item struct {
	node, index uint32
	hash        uint64
	first       float64 // its first number, where a tolerance blurs numbers
}

// arrays compares two arrays, as multisets where a rule says so.
func (j *Differ) arrays(x, y uint32) {
	base := len(j.items)
	i, endA := j.list(&j.a, x)
	k, endB := j.list(&j.b, y)
	switch {
	case jsonpath.AnyMatches(j.unordered, j.trail):
		j.multiset(i, endA, k, endB)
	case endA-i == endB-k:
		j.sequence(i, k, endA-i)
	default:
		j.lengths(i, endA, k, endB)
	}
	j.items = j.items[:base]
}

// list puts an array's elements on the stack of items.
func (j *Differ) list(d *jsondoc.Document, x uint32) (from, to int) {
	from = len(j.items)
	for i, n := x+1, uint32(0); i < d.Nodes[x].Next; i, n = d.Nodes[i].Next, n+1 {
		j.items = append(j.items, item{node: i, index: n})
	}
	return from, len(j.items)
}

func (j *Differ) element(i, k int) {
	j.trail = append(j.trail, jsondoc.Place{Index: int(j.items[i].index)})
	j.value(j.items[i].node, j.items[k].node)
	j.trail = j.trail[:len(j.trail)-1]
}

// sequence compares n elements one by one. If they would not differ in another order, it reports the order.
func (j *Differ) sequence(i, k, n int) {
	reported, nodes := len(j.out), j.nodes
	for e := 0; e < n && !j.done(); e++ {
		j.element(i+e, k+e)
	}
	if len(j.out) == reported || n < 2 || !j.permuted(i, k, n) {
		return
	}
	j.out, j.nodes = j.out[:reported], nodes
	j.report(HowOrder, nil, nil, Elements(n), "another order")
	j.pairEqual(i, i+n, k, k+n)
}

// permuted reports whether two lists of n elements are equal except for order and for fields whose
// values differ as a whole. A field pairs the elements if its values are the same multiset on both
// sides; a field with new values in each response (an id) does not.
func (j *Differ) permuted(i, k, n int) bool {
	j.suspect(i, i+n, k, k+n)
	j.hashAll(&j.a, i, i+n)
	j.hashAll(&j.b, k, k+n)
	inOrder, sum := true, uint64(0)
	for e := range n {
		x, y := j.items[i+e].hash, j.items[k+e].hash
		inOrder = inOrder && x == y
		sum += digest.Mix(x) - digest.Mix(y)
	}
	return !inOrder && sum == 0 && !j.done()
}

func (j *Differ) sort(from, to int) {
	slices.SortFunc(j.items[from:to], func(a, b item) int {
		return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.first, b.first), cmp.Compare(a.index, b.index))
	})
}

// lengths compares lists of different lengths: their common beginning and end, then the rest one by one
// as far as it goes.
func (j *Differ) lengths(i, endA, k, endB int) {
	j.report(HowLength, nil, nil, Elements(endA-i), Elements(endB-k))
	clear(j.suspects)
	j.hashAll(&j.a, i, endA)
	j.hashAll(&j.b, k, endB)
	alike := func(i, k int) bool { return j.items[i].hash == j.items[k].hash }
	for ; i < endA && k < endB && !j.done() && alike(i, k); i, k = i+1, k+1 {
		j.element(i, k)
	}
	for ; i < endA && k < endB && !j.done() && alike(endA-1, endB-1); endA, endB = endA-1, endB-1 {
		j.element(endA-1, endB-1)
	}
	for ; i < endA && k < endB && !j.done(); i, k = i+1, k+1 {
		j.element(i, k)
	}
}

// Elements says how many elements there are.
func Elements(n int) string { return strconv.Itoa(n) + " elements" }

// multiset compares lists regardless of order. It pairs equal elements, then those equal except for
// fields that differ as a whole, and then the rest one by one.
func (j *Differ) multiset(i, endA, k, endB int) {
	if endA-i != endB-k {
		j.report(HowLength, nil, nil, Elements(endA-i), Elements(endB-k))
	}
	clear(j.suspects)
	restA, restB := j.pairEqual(i, endA, k, endB)
	if restA > i && restB > k && !j.done() {
		j.suspect(i, restA, k, restB)
		restA, restB = j.pairEqual(i, restA, k, restB)
	}
	for ; i < restA && k < restB && !j.done(); i, k = i+1, k+1 {
		j.element(i, k)
	}
}

// pairEqual hashes and sorts both lists, compares elements of equal hash, and moves the others to the
// front. It gives where they end.
func (j *Differ) pairEqual(i, endA, k, endB int) (restA, restB int) {
	j.hashAll(&j.a, i, endA)
	j.hashAll(&j.b, k, endB)
	j.sort(i, endA)
	j.sort(k, endB)
	restA, restB = i, k
	for (i < endA || k < endB) && !j.done() {
		switch {
		case k == endB || (i < endA && j.items[i].hash < j.items[k].hash):
			j.items[restA], i, restA = j.items[i], i+1, restA+1
		case i == endA || j.items[k].hash < j.items[i].hash:
			j.items[restB], k, restB = j.items[k], k+1, restB+1
		default:
			j.element(i, k)
			i, k = i+1, k+1
		}
	}
	return restA, restB
}

// suspect finds the fields whose values, over all elements, are not the same multiset on both sides.
func (j *Differ) suspect(i, endA, k, endB int) {
	clear(j.columns)
	clear(j.suspects)
	for ; i < endA; i++ {
		j.column(&j.a, j.items[i].node, 1, 1)
	}
	for ; k < endB; k++ {
		j.column(&j.b, j.items[k].node, 1, ^uint64(0))
	}
	for path, sum := range j.columns {
		if sum != 0 {
			j.suspects[path] = true
		}
	}
}

// column adds up the values' hashes per path below an element.
func (j *Differ) column(d *jsondoc.Document, x uint32, path, sign uint64) {
	if j.steps++; j.done() {
		return
	}
	switch n := &d.Nodes[x]; n.Kind {
	case jsondoc.Object:
		for i := x + 1; i < n.Next; i = d.Nodes[i+1].Next {
			j.column(d, i+1, keyPath(path, d.Key(i)), sign)
		}
	case jsondoc.Array:
		for i := x + 1; i < n.Next; i = d.Nodes[i].Next {
			j.column(d, i, indexPath(path), sign)
		}
	default:
		j.columns[path] += sign * j.leafHash(d, x)
	}
}

func keyPath(path uint64, key []byte) uint64 { return digest.Mix(digest.FNVOn(path, key)) }
func indexPath(path uint64) uint64           { return digest.Mix(path + 0x9e3779b97f4a7c15) }

func (j *Differ) hashAll(d *jsondoc.Document, from, to int) {
	for i := from; i < to; i++ {
		it := &j.items[i]
		it.first = 0
		j.trail = append(j.trail, jsondoc.Place{Index: int(it.index)})
		it.hash = j.hash(d, it.node, 1, it)
		j.trail = j.trail[:len(j.trail)-1]
	}
}

// hash is equal for values that do not differ: it leaves out ignored values, suspect fields, and numbers
// where a tolerance is set.
func (j *Differ) hash(d *jsondoc.Document, x uint32, path uint64, it *item) uint64 {
	if j.steps++; j.done() {
		return 0
	}
	n := &d.Nodes[x]
	h := digest.Mix(uint64(n.Kind) + 1)
	switch n.Kind {
	case jsondoc.Object:
		for i := x + 1; i < n.Next; i = d.Nodes[i+1].Next {
			key := d.Key(i)
			j.trail = append(j.trail, jsondoc.Place{Key: key})
			if len(j.ignore) == 0 || !jsonpath.AnyMatches(j.ignore, j.trail) {
				p := keyPath(path, key)
				h += digest.Mix(digest.FNV(key) ^ 3*j.hash(d, i+1, p, it))
			}
			j.trail = j.trail[:len(j.trail)-1]
		}
	case jsondoc.Array:
		loose := len(j.unordered) > 0 && jsonpath.AnyMatches(j.unordered, j.trail)
		e := 0
		for i := x + 1; i < n.Next; i, e = d.Nodes[i].Next, e+1 {
			j.trail = append(j.trail, jsondoc.Place{Index: e})
			if len(j.ignore) == 0 || !jsonpath.AnyMatches(j.ignore, j.trail) {
				v := digest.Mix(j.hash(d, i, indexPath(path), it))
				if loose {
					h += v
				} else {
					h = digest.Mix(h ^ v)
				}
			}
			j.trail = j.trail[:len(j.trail)-1]
		}
	default:
		if n.Kind == jsondoc.Number && j.tolerance > 0 {
			if it.first == 0 {
				it.first = jsondoc.Approximate(d.Text(x))
			}
			return h
		}
		if !j.suspects[path] {
			h = j.leafHash(d, x)
		}
	}
	return h
}

// Key is a hash of a body by its meaning, however it is written; false: it is not JSON.
func (j *Differ) Key(body []byte) (key uint64, ok bool) {
	if j.a.Scan(body) != jsondoc.Scanned {
		return 0, false
	}
	j.steps = 0
	return j.hash(&j.a, 0, 1, nil), true
}

// leafHash is the hash of a value by its meaning.
func (j *Differ) leafHash(d *jsondoc.Document, x uint32) uint64 {
	n, text := &d.Nodes[x], d.Text(x)
	switch {
	case n.Kind == jsondoc.Number:
		var buf [64]byte
		v := jsondoc.ParseDecimal(buf[:0], text)
		h := digest.FNVOn(uint64(v.Exp)*31+7, v.Digits)
		if v.Negative {
			h = ^h
		}
		return digest.Mix(h)
	case n.Kind == jsondoc.String && n.Escaped:
		j.bufA, _ = jsondoc.Unquote(j.bufA[:0], text)
		return digest.Mix(digest.FNV(j.bufA))
	case n.Kind == jsondoc.String:
		return digest.Mix(digest.FNV(text[1 : len(text)-1]))
	}
	return digest.Mix(digest.FNVOn(uint64(n.Kind), text))
}
