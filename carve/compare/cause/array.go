package cause

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"whittle/carve/compare/jsondiff"
	"whittle/carve/compare/jsondoc"
)

const (
	listMost    = 256 // elements that are looked at
	columnsMost = 16  // fields of an element by which a list may be sorted
)

// listCauses are the causes of two lists that are not the same.
func listCauses(a, b *jsondoc.Document, x, y int32) []string {
	if a.Nodes[x].Count > listMost || b.Nodes[y].Count > listMost {
		return nil
	}
	p, q := texts(a, x), texts(b, y)
	switch {
	case len(p) == len(q) && slices.Equal(p, q), len(p) == 0:
		return nil
	case len(q) == 0:
		return []string{"list empty"}
	}
	if keys := repeatedCauses(p, q); keys != nil {
		return keys
	}
	if keys := endCauses(p, q); keys != nil {
		return keys
	}
	if len(p) == len(q) && slices.Equal(sorted(p), sorted(q)) {
		return orderCauses(a, b, x, y, p, q)
	}
	return shiftCauses(p, q)
}

// texts are the elements as they are written, without white space between tokens.
func texts(d *jsondoc.Document, array int32) []string {
	nodes := d.Elements(array)
	list := make([]string, len(nodes))
	for i, n := range nodes {
		list[i] = string(d.Text(n))
	}
	return list
}

// endCauses are those of a list that ends earlier or later.
func endCauses(p, q []string) []string {
	n, m := len(p), len(q)
	switch {
	case m < n && slices.Equal(p[:m], q):
		if m == n-1 {
			return []string{"list last", "list part", fmt.Sprintf("list cut:%d", m)}
		}
		return []string{"list part", fmt.Sprintf("list cut:%d", m)}
	case m > n && slices.Equal(q[:n], p):
		return []string{"list longer", fmt.Sprintf("list more:%d", n)}
	case m == n-1 && slices.Equal(p[1:], q):
		return []string{"list first", "list next:1"}
	}
	return nil
}

// shiftCauses are those of a list that begins elsewhere: at least half of it, and
// three elements that are not all alike, are the monolith's some places on.
func shiftCauses(p, q []string) []string {
	for k := 1; k < min(len(p), len(q), 64); k++ {
		if fits(p[k:], q) {
			return []string{fmt.Sprintf("list next:%d", k)}
		}
		if fits(q[k:], p) {
			return []string{fmt.Sprintf("list before:%d", k)}
		}
	}
	return nil
}

func fits(tail, list []string) bool {
	n := min(len(tail), len(list))
	return n >= 3 && 2*n >= min(len(list), len(tail)+1) && slices.Equal(tail[:n], list[:n]) && slices.ContainsFunc(tail[1:n], func(s string) bool { return s != tail[0] })
}

// repeatedCauses are those of elements that are there twice.
func repeatedCauses(p, q []string) []string {
	switch {
	case len(p) == len(q) || !slices.Equal(slices.Compact(sorted(p)), slices.Compact(sorted(q))):
		return nil
	case len(q) > len(p):
		return []string{"list twice"}
	}
	return []string{"list distinct"}
}

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }

// orderCauses are those of the same elements in another order.
func orderCauses(a, b *jsondoc.Document, x, y int32, p, q []string) (keys []string) {
	back := slices.Clone(q)
	slices.Reverse(back)
	if slices.Equal(p, back) {
		keys = append(keys, "list reversed")
	}
	if len(p) < 3 {
		return keys
	}
	was, is := sortings(a, x), sortings(b, y)
	for _, s := range is {
		if !slices.Contains(was, s) {
			keys = append(keys, "list sorted:"+s)
		}
	}
	for _, s := range was {
		if !slices.Contains(is, s) {
			keys = append(keys, "list unsorted:"+s)
		}
	}
	return keys
}

// sortings lists by what an array is sorted: "name:ascending".
func sortings(d *jsondoc.Document, array int32) (list []string) {
	nodes := d.Elements(array)
	if d.Nodes[nodes[0]].Kind != jsondoc.Object {
		return sortedBy(d, nodes, "their values")
	}
	count := 0
	for i := nodes[0] + 1; i < d.Nodes[nodes[0]].Next && count < columnsMost; i, count = d.Nodes[i+1].Next, count+1 {
		key := d.Key(i)
		if !jsondoc.PlainKey(key) || bytes.ContainsAny(key, ":|") {
			continue
		}
		var column []uint32
		for _, n := range nodes {
			if v, ok := d.Member(n, key); ok {
				column = append(column, v)
			}
		}
		if len(column) == len(nodes) {
			list = append(list, sortedBy(d, column, string(key))...)
		}
	}
	return list
}

// sortedBy names the orders in which values stand, of which not all are the same.
func sortedBy(d *jsondoc.Document, column []uint32, name string) (list []string) {
	kind := d.Nodes[column[0]].Kind
	if kind != jsondoc.Number && kind != jsondoc.String {
		return nil
	}
	same := func(u, v uint32) bool { return bytes.Equal(d.Text(u), d.Text(v)) }
	if !slices.ContainsFunc(column, func(v uint32) bool { return !same(v, column[0]) }) ||
		slices.ContainsFunc(column, func(v uint32) bool { return d.Nodes[v].Kind != kind }) {
		return nil
	}
	try := func(suffix string, compare func(u, v []byte) int) {
		switch {
		case slices.IsSortedFunc(column, func(u, v uint32) int { return compare(d.Text(u), d.Text(v)) }):
			list = append(list, name+":ascending"+suffix)
		case slices.IsSortedFunc(column, func(u, v uint32) int { return compare(d.Text(v), d.Text(u)) }):
			list = append(list, name+":descending"+suffix)
		}
	}
	if kind == jsondoc.Number {
		try("", func(u, v []byte) int { return cmp.Compare(jsondoc.Approximate(u), jsondoc.Approximate(v)) })
		try(" as text", bytes.Compare)
		return list
	}
	try("", bytes.Compare)
	try(" without regard to case", func(u, v []byte) int { return bytes.Compare(bytes.ToLower(u), bytes.ToLower(v)) })
	return list
}

// Of are the keys of what makes the candidate's value of the monolith's at a
// difference that in has just given of the two bodies.
func Of(in jsondiff.Differ, d *jsondiff.Difference, monolith, candidate []byte) []string {
	from, to, ok := in.Sides(d)
	if !ok {
		return bodyCauses(monolith, candidate)
	}
	var keys []string
	if x, y, ok := from.ListWith(&to); ok {
		keys = listCauses(from.Doc, to.Doc, x, y)
	}
	if d.How != jsondiff.HowLength && d.How != jsondiff.HowOrder {
		keys = append(keys, valueCauses(from.Text(), to.Text())...)
	}
	return keys
}

// bodyCauses are the causes of two texts that are whole bodies: those of all of
// them, or else of the words that stand where they first differ.
func bodyCauses(monolith, candidate []byte) []string {
	a, b := string(monolith), string(candidate)
	switch {
	case len(a) > textMost || len(b) > textMost:
	case strings.TrimRight(a, "\r\n") == strings.TrimRight(b, "\r\n"):
		return []string{"final line"}
	case jsondiff.Same(monolith, candidate):
		return []string{"json form"}
	default:
		if keys := ofWholes(textCauses(a, b)); len(keys) > 0 {
			return keys
		}
	}
	x, y := jsondiff.WordsAt(monolith, candidate, jsondiff.FirstDifference(monolith, candidate))
	return textCauses(strings.TrimRight(string(x), ".:"), strings.TrimRight(string(y), ".:"))
}

// ofWholes leaves out what says nothing of a whole body.
func ofWholes(keys []string) []string {
	return slices.DeleteFunc(keys, func(k string) bool {
		switch kind, _, _ := strings.Cut(k, ":"); kind {
		case "prefix cut", "prefix added", "suffix cut", "suffix added", "words joined", "words order":
			return true
		}
		return false
	})
}
