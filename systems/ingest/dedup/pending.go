package dedup

import "encoding/binary"

// claims are the ids that are claimed and not settled yet: a table with open addressing
// and linear probing, at most half full. Its ids are hashes already, which is what it saves
// over a map. It does not shrink: it has at most four times as many slots as there were
// claims at once.
type claims struct {
	slots []claimSlot // a power of two of them
	used  int
}

// claimSlot is a claim, a free slot where taken is not set.
type claimSlot struct {
	id    ID
	taken bool
	claim *pendingClaim // nil: nobody waits for it
}

// fewestSlots is how many slots there are at first.
const fewestSlots = 64

// find returns an id's slot, or the free one where it would be.
func (c *claims) find(id *ID) (slot *claimSlot, ok bool) {
	for t := c.home(id); ; t = (t + 1) & (len(c.slots) - 1) {
		if s := &c.slots[t]; !s.taken || s.id == *id {
			return s, s.taken
		}
	}
}

func (c *claims) home(id *ID) int {
	return int(binary.LittleEndian.Uint64(id[8:])) & (len(c.slots) - 1)
}

// take adds a claim at a free slot that find has returned.
func (c *claims) take(free *claimSlot, id *ID) {
	*free = claimSlot{id: *id, taken: true}
	if c.used++; 2*c.used < len(c.slots) {
		return
	}
	all := c.slots
	c.slots = make([]claimSlot, 2*len(all))
	for i := range all {
		if all[i].taken {
			s, _ := c.find(&all[i].id)
			*s = all[i]
		}
	}
}

// end takes a claim away, where there is one, and moves up those behind it that it
// was in the way of.
func (c *claims) end(id *ID) (was *pendingClaim) {
	last := len(c.slots) - 1
	for t := c.home(id); c.slots[t].taken; t = (t + 1) & last {
		if c.slots[t].id != *id {
			continue
		}
		was = c.slots[t].claim
		c.used--
		for n := (t + 1) & last; c.slots[n].taken; n = (n + 1) & last {
			if home := c.home(&c.slots[n].id); (n-home)&last >= (n-t)&last {
				c.slots[t], t = c.slots[n], n
			}
		}
		c.slots[t] = claimSlot{}
		return was
	}
	return nil
}
