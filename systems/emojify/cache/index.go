package cache

import (
	"container/list"
	"maps"
	"slices"
	"time"
)

// index knows the items by key and by last use. Its caller has the
// lock.
type index struct {
	byKey map[Key]*entry
	uses  *list.List // of *entry, the least recently used in front
	bytes int64
}

type entry struct {
	key  Key
	size int64
	put  time.Time
	use  *list.Element
}

func newIndex() *index {
	return &index{byKey: map[Key]*entry{}, uses: list.New()}
}

// add takes a key that is not there, as just put and just used.
func (x *index) add(key Key, size int64, put time.Time) {
	e := &entry{key: key, size: size, put: put}
	e.use = x.uses.PushBack(e)
	x.byKey[key] = e
	x.bytes += size
}

func (x *index) remove(e *entry) {
	x.uses.Remove(e.use)
	delete(x.byKey, e.key)
	x.bytes -= e.size
}

func (x *index) use(e *entry) { x.uses.MoveToBack(e.use) }

func (x *index) oldest() *entry { return x.uses.Front().Value.(*entry) }

// sortByAge orders what was added in a folder's order.
func (x *index) sortByAge() {
	all := slices.Collect(maps.Values(x.byKey))
	slices.SortFunc(all, func(a, b *entry) int { return a.put.Compare(b.put) })
	for _, e := range all {
		x.uses.MoveToBack(e.use)
	}
}
