package infer

import "strconv"

// Counting values would take one thing that is returned again and again for
// many: a list of the same ten orders, asked for a hundred times, says of ten
// orders which states there are and not of a thousand. So a word's evidence is
// in how many different objects it stood.

// maxObjects bounds how many objects are remembered of all places together; from
// then on the evidence of a place does not grow.
const maxObjects = 1 << 19

// objects are the different ones in which each word of a place was, at most
// enoughObjects of each.
type objects map[string]map[uint64]struct{}

// see notes a word in the object around it.
func (o *objects) see(word string, b *bounds) {
	if b == nil || b.objects >= maxObjects || !o.add(word, b.around) {
		return
	}
	b.objects++
}

// add reports whether the object is a new one for the word.
func (o *objects) add(word string, object uint64) bool {
	if *o == nil {
		*o = objects{}
	}
	set := (*o)[word]
	if set == nil {
		set = map[uint64]struct{}{}
		(*o)[word] = set
	}
	if _, known := set[object]; known || len(set) == enoughObjects {
		return false
	}
	set[object] = struct{}{}
	return true
}

// all is the number for all words, fewest that of the word with the fewest.
func (o objects) all() (all int, rarest string, fewest int) {
	for word, set := range o {
		all += len(set)
		if rarest == "" || len(set) < fewest || len(set) == fewest && word < rarest {
			rarest, fewest = word, len(set)
		}
	}
	return all, rarest, fewest
}

// around tells an object from others by the scalars that it has itself, but for
// times: that of the response would make another object of the same one each time.
// With fewer than two scalars, of which one may be the word, it is told apart by
// what lies around it, too.
func around(v *value, outer uint64) uint64 {
	h, scalars := uint64(len(v.keys)), 0
	for i, k := range v.keys {
		switch in := &v.items[i]; in.kind {
		case kindBool, kindNumber, kindText:
			if !in.moment(k) {
				scalars++
				h += mixHash(textHash(k) + mixHash(textHash(in.text)+uint64(in.kind)))
			}
		}
	}
	if scalars < 2 {
		h += outer
	}
	return mixHash(h)
}

// moment says that a member is a time, or may be one: the same digits are an id
// where they are called one.
func (v *value) moment(key string) bool {
	if v.kind == kindText {
		return isTime(v.text)
	}
	f, err := strconv.ParseFloat(v.text, 64)
	return v.kind == kindNumber && err == nil && isEpoch(f) && !isIDName(key)
}
