package relay

import (
	"maps"
	"slices"

	"whittle/systems/ingest/stream"
)

// mark is how far each of the sink's partitions had come at some moment: what
// is sent after it lies at or behind it.
type mark struct {
	ends map[string]string
	refs int // unsettled items that were first sent under it
}

func (it *item) release() {
	if it.mark != nil {
		it.mark.refs--
		it.mark = nil
	}
}

// tail knows from where the sink must be read to find every item that it may
// have and that is not settled here. It is not safe for concurrent use.
type tail struct {
	high  map[string]string // the furthest place acknowledged, by partition
	marks []*mark           // oldest first; the last is the one in force
}

func newTail(ends map[string]string) *tail {
	t := &tail{high: maps.Clone(ends)}
	if t.high == nil {
		t.high = map[string]string{}
	}
	t.rotate()
	return t
}

// rotate takes a new mark and forgets those that no item needs.
func (t *tail) rotate() {
	t.marks = slices.DeleteFunc(t.marks, func(m *mark) bool { return m.refs == 0 })
	t.marks = append(t.marks, &mark{ends: maps.Clone(t.high)})
}

// sent says that an item goes to the sink now; the first time counts.
func (t *tail) sent(it *item) {
	if it.mark == nil {
		it.mark = t.marks[len(t.marks)-1]
		it.mark.refs++
	}
}

func (t *tail) acknowledged(at stream.Position) {
	if stream.CompareOffsets(at.Offset, t.high[at.Partition]) > 0 {
		t.high[at.Partition] = at.Offset
	}
}

// base is from where to read after a crash at this moment.
func (t *tail) base() map[string]string {
	return t.first(func(m *mark) bool { return m.refs > 0 })
}

// oldest is the mark from which to read to find these items.
func (t *tail) oldest(items []*item) map[string]string {
	return t.first(func(m *mark) bool {
		return slices.ContainsFunc(items, func(it *item) bool { return it.mark == m })
	})
}

// first is the oldest such mark or, where there is none, how far the sink has come.
func (t *tail) first(is func(*mark) bool) map[string]string {
	if i := slices.IndexFunc(t.marks, is); i >= 0 {
		return t.marks[i].ends
	}
	return maps.Clone(t.high)
}

// outstanding reports whether something was sent that is not settled.
func (t *tail) outstanding() bool {
	return slices.ContainsFunc(t.marks, func(m *mark) bool { return m.refs > 0 })
}
