package infer

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
	"strings"

	"whittle/record/capture"
)

const (
	// slots bounds the requests of an endpoint whose responses are remembered;
	// a newer one replaces an older one.
	slots = 64
	// maxKept bounds a response that is remembered, in bytes.
	maxKept = 8 << 10
	// maxDiffering bounds the paths at which responses differed.
	maxDiffering = 64
	// leastDiffering is the number of repeats that must differ before the cause
	// is not a change of state in between.
	leastDiffering = 3
)

// repeats finds repeated requests, and what differs between their responses.
type repeats struct {
	kept [slots]*keptResponse
	// pairs counts the repeated requests, same those with the same response.
	pairs, same int
	paths       map[string]*difference
	// numbers counts the texts that differ in their first number only, texts
	// the others.
	numbers, texts int
}

type keptResponse struct {
	request capture.RequestKey
	body    []byte
}

// difference is what differed at one path, over all pairs.
type difference struct {
	n int
	// numbers counts pairs of numbers, rising those that grew, made those of
	// strings that look like times or ids, reordered those of arrays with the
	// same elements.
	numbers, rising, made, reordered int
}

func (r *repeats) see(x *capture.Entry, response *value) {
	if len(x.Response.Body) > maxKept {
		return
	}
	request := capture.KeyOf(&x.Request)
	slot := &r.kept[request[0]%slots]
	was := *slot
	*slot = &keptResponse{request: request, body: x.Response.Body}
	if was == nil || was.request != request {
		(*slot).body = slices.Clone(x.Response.Body)
		return
	}
	r.pairs++
	if bytes.Equal(was.body, x.Response.Body) {
		r.same++
		*slot = was
		return
	}
	(*slot).body = slices.Clone(x.Response.Body)
	if response == nil {
		if onlyFirstNumberDiffers(cut(string(was.body)), cut(string(x.Response.Body))) {
			r.numbers++
		} else {
			r.texts++
		}
		return
	}
	before, err := parse(was.body)
	if err != nil {
		return
	}
	found := map[string]difference{}
	differences(before, response, "$", found)
	if len(found) == 0 {
		r.same++ // other bytes, the same JSON
	}
	for _, path := range slices.Sorted(maps.Keys(found)) {
		r.add(path, found[path])
	}
}

func (r *repeats) add(path string, d difference) {
	if r.paths == nil {
		r.paths = map[string]*difference{}
	}
	p := r.paths[path]
	if p == nil {
		if len(r.paths) == maxDiffering {
			return
		}
		p = &difference{}
		r.paths[path] = p
	}
	p.n += d.n
	p.numbers += d.numbers
	p.rising += d.rising
	p.made += d.made
	p.reordered += d.reordered
}

func (r *repeats) absorb(o *repeats) {
	r.pairs += o.pairs
	r.same += o.same
	r.numbers += o.numbers
	r.texts += o.texts
	for _, path := range slices.Sorted(maps.Keys(o.paths)) {
		r.add(path, *o.paths[path])
	}
}

// onlyFirstNumberDiffers reports whether two texts differ in an integer before
// which there is no number, and in nothing else: that is the one number that a
// comparison reads.
func onlyFirstNumberDiffers(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] && !strings.ContainsAny(a[i], "0123456789") {
		i++
	}
	return i < len(a) && isInteger(a[i]) && isInteger(b[i]) && slices.Equal(a[i+1:], b[i+1:])
}

// grew returns 1 where the second number is larger.
func grew(before, after string) int {
	x, _ := strconv.ParseFloat(before, 64)
	if y, _ := strconv.ParseFloat(after, 64); y > x {
		return 1
	}
	return 0
}

// differences notes the paths at which two responses differ, each once.
func differences(a, b *value, path string, found map[string]difference) {
	if len(found) > maxDiffering {
		return
	}
	switch {
	case a.kind == kindObject && b.kind == kindObject:
		for i, k := range a.keys {
			if other := b.member(k); other != nil {
				differences(&a.items[i], other, path+step(k), found)
			} else {
				found[path+step(k)] = difference{n: 1}
			}
		}
		for _, k := range b.keys {
			if a.member(k) == nil {
				found[path+step(k)] = difference{n: 1}
			}
		}
	case a.kind == kindArray && b.kind == kindArray && len(a.items) == len(b.items):
		below := map[string]difference{}
		for i := range a.items {
			differences(&a.items[i], &b.items[i], path+"[*]", below)
		}
		if len(below) > 0 && sameElements(a, b) {
			found[path] = difference{n: 1, reordered: 1}
			return
		}
		maps.Copy(found, below)
	case !same(a, b):
		d := difference{n: 1}
		if a.kind == kindNumber && b.kind == kindNumber {
			d.numbers, d.rising = 1, grew(a.text, b.text)
		}
		if isMade(a) && isMade(b) {
			d.made = 1
		}
		found[path] = d
	}
}

// isMade reports whether a value looks generated for each response: a time, or
// an id that does not count. A date or an e-mail address is data.
func isMade(v *value) bool {
	switch v.kind {
	case kindText:
		return isTime(v.text) || isID(v.text) && !isInteger(v.text) && !isDate(v.text) && !isEmail(v.text)
	case kindNumber:
		var n numbers
		n.see(v.text)
		return n.epochs > 0
	}
	return false
}

// sameElements reports whether two arrays have the same elements, in whatever
// order.
func sameElements(a, b *value) bool {
	x, y := hashes(a), hashes(b)
	return slices.Equal(x, y)
}

func hashes(v *value) []uint64 {
	out := make([]uint64, len(v.items))
	for i := range v.items {
		out[i] = contentHash(&v.items[i])
	}
	slices.Sort(out)
	return out
}

// contentHash is the same for the same JSON values.
func contentHash(v *value) uint64 {
	h := mixHash(uint64(v.kind) + 1)
	switch v.kind {
	case kindNumber:
		h += textHash(canonical(v.text))
	case kindArray:
		for i := range v.items {
			h = mixHash(h + contentHash(&v.items[i]))
		}
	case kindObject:
		for i, k := range v.keys {
			h += mixHash(textHash(k) + contentHash(&v.items[i]))
		}
	default:
		h += textHash(v.text)
	}
	return mixHash(h)
}
