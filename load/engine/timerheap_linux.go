package engine

// timerHeap is a binary heap of waiting fibers, the earliest first.
type timerHeap []*Fiber

func (t *timerHeap) push(f *Fiber) {
	f.heapIndex = len(*t)
	*t = append(*t, f)
	t.up(f.heapIndex)
}

// remove takes a fiber out of the heap; one that is not in it changes nothing.
func (t *timerHeap) remove(f *Fiber) {
	i, last := f.heapIndex, len(*t)-1
	if i < 0 {
		return
	}
	f.heapIndex = -1
	moved := (*t)[last]
	(*t)[last] = nil
	*t = (*t)[:last]
	if moved == f {
		return
	}
	(*t)[i] = moved
	moved.heapIndex = i
	t.up(i)
	t.down(moved.heapIndex)
}

func (t timerHeap) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !t[i].deadline.Before(t[parent].deadline) {
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
			if t[child].deadline.Before(t[least].deadline) {
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
