package infer

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
	"strings"

	"whittle/contract"
	"whittle/contract/infer/document"
	"whittle/contract/infer/pattern"
	"whittle/contract/infer/shape"
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

func (r *repeats) see(x *capture.Entry, response *document.Value) {
	if len(x.Response.Body) > maxKept {
		return
	}
	request := capture.KeyOf(&x.Request)
	slot := &r.kept[request[0]%slots]
	was := *slot
	if was != nil && was.request == request {
		r.pairs++
		if bytes.Equal(was.body, x.Response.Body) {
			r.same++
			return
		}
	}
	*slot = &keptResponse{request: request, body: slices.Clone(x.Response.Body)}
	if was == nil || was.request != request {
		return
	}
	if response == nil {
		if onlyFirstNumberDiffers(pattern.Tokens(string(was.body)), pattern.Tokens(string(x.Response.Body))) {
			r.numbers++
		} else {
			r.texts++
		}
		return
	}
	before, err := document.Parse(was.body)
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
	p := upTo(&r.paths, path, maxDiffering)
	if p == nil {
		return
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
	return i < len(a) && pattern.IsInteger(a[i]) && pattern.IsInteger(b[i]) && slices.Equal(a[i+1:], b[i+1:])
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
func differences(a, b *document.Value, path string, found map[string]difference) {
	if len(found) > maxDiffering {
		return
	}
	switch {
	case a.Kind == document.Object && b.Kind == document.Object:
		for i, k := range a.Keys {
			if other := b.Member(k); other != nil {
				differences(&a.Items[i], other, path+contract.PathStep(k), found)
			} else {
				found[path+contract.PathStep(k)] = difference{n: 1}
			}
		}
		for _, k := range b.Keys {
			if a.Member(k) == nil {
				found[path+contract.PathStep(k)] = difference{n: 1}
			}
		}
	case a.Kind == document.Array && b.Kind == document.Array && len(a.Items) == len(b.Items):
		below := map[string]difference{}
		for i := range a.Items {
			differences(&a.Items[i], &b.Items[i], path+"[*]", below)
		}
		if len(below) > 0 && sameElements(a, b) {
			found[path] = difference{n: 1, reordered: 1}
			return
		}
		maps.Copy(found, below)
	case !document.Same(a, b):
		d := difference{n: 1}
		if a.Kind == document.Number && b.Kind == document.Number {
			d.numbers, d.rising = 1, grew(a.Text, b.Text)
		}
		if isMade(a) && isMade(b) {
			d.made = 1
		}
		found[path] = d
	}
}

// isMade reports whether a value looks generated for each response: a time, or
// an id that does not count. A date or an e-mail address is data.
func isMade(v *document.Value) bool {
	switch v.Kind {
	case document.Text:
		return pattern.IsTime(v.Text) || pattern.IsID(v.Text) && !pattern.IsInteger(v.Text) && !pattern.IsDate(v.Text) && !pattern.IsEmail(v.Text)
	case document.Number:
		var n shape.Numbers
		n.See(v.Text)
		return n.Epochs > 0
	}
	return false
}

// sameElements reports whether two arrays have the same elements, in whatever
// order.
func sameElements(a, b *document.Value) bool {
	x, y := hashes(a), hashes(b)
	return slices.Equal(x, y)
}

func hashes(v *document.Value) []uint64 {
	out := make([]uint64, len(v.Items))
	for i := range v.Items {
		out[i] = contentHash(&v.Items[i])
	}
	slices.Sort(out)
	return out
}

// contentHash is the same for the same JSON values.
func contentHash(v *document.Value) uint64 {
	h := shape.Mix(uint64(v.Kind) + 1)
	switch v.Kind {
	case document.Number:
		h += shape.Hash(document.Canonical(v.Text))
	case document.Array:
		for i := range v.Items {
			h = shape.Mix(h + contentHash(&v.Items[i]))
		}
	case document.Object:
		for i, k := range v.Keys {
			h += shape.Mix(shape.Hash(k) + contentHash(&v.Items[i]))
		}
	default:
		h += shape.Hash(v.Text)
	}
	return shape.Mix(h)
}
