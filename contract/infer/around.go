package infer

import "strconv"

// Evidence for a word is the number of different objects that contain it, not
// the number of its values: a list of the same ten orders, requested a hundred
// times, shows the states of ten orders and not of a thousand.

// maxObjects bounds how many objects are remembered over all places; after that
// the evidence of a place does not grow.
const maxObjects = 1 << 19

// objects has the different objects that contained each word of a place, at
// most enoughObjects of each.
type objects map[string]map[uint64]struct{}

// see adds a word and the object that contains it.
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

// all returns the number of objects for all words, and the word with the
// fewest.
func (o objects) all() (all int, rarest string, fewest int) {
	for word, set := range o {
		all += len(set)
		if rarest == "" || len(set) < fewest || len(set) == fewest && word < rarest {
			rarest, fewest = word, len(set)
		}
	}
	return all, rarest, fewest
}

// around identifies an object by its own scalars except times, which would make
// the same object a new one in each response. An object with fewer than two
// scalars, of which one may be the word, is also identified by what contains
// it.
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

// moment reports whether a member is a time, or may be one: the same digits are
// an id where they are named one.
func (v *value) moment(key string) bool {
	if v.kind == kindText {
		return isTime(v.text)
	}
	f, err := strconv.ParseFloat(v.text, 64)
	return v.kind == kindNumber && err == nil && isEpoch(f) && !isIDName(key)
}
