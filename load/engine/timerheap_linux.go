package engine

import "time"

// timerHeap is a binary heap of fibers, the one with the earliest alarm first. A fiber stays
// in it when it is resumed: each request sets another deadline seconds ahead, and hardly any
// is reached. So most waits change nothing here, and the alarm finds the fiber's deadline later.
type timerHeap []*Fiber

// lookBy sets a fiber's alarm, unless it has an earlier one.
func (t *timerHeap) lookBy(f *Fiber, at time.Time) {
	switch {
	case f.heapIndex < 0:
		f.alarm, f.heapIndex = at, len(*t)
		*t = append(*t, f)
	case at.Before(f.alarm):
		f.alarm = at
	default:
		return
	}
	t.up(f.heapIndex)
}

// postpone moves the earliest alarm.
func (t timerHeap) postpone(to time.Time) {
	t[0].alarm = to
	t.down(0)
}

// pop takes the fiber with the earliest alarm out.
func (t *timerHeap) pop() {
	last := len(*t) - 1
	t.swap(0, last)
	(*t)[last].heapIndex = -1
	(*t)[last] = nil
	*t = (*t)[:last]
	t.down(0)
}

func (t timerHeap) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !t[i].alarm.Before(t[parent].alarm) {
			return
		}
		t.swap(i, parent)
		i = parent
	}
}

func (t timerHeap) down(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(t); child++ {
			if t[child].alarm.Before(t[least].alarm) {
				least = child
			}
		}
		if least == i {
			return
		}
		t.swap(i, least)
		i = least
	}
}

func (t timerHeap) swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].heapIndex, t[j].heapIndex = i, j
}
