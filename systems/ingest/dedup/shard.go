package dedup

import (
	"encoding/binary"
	"math/bits"
)

// entry is an id that was seen. 32 bytes.
type entry struct {
	id        ID
	offset    uint64 // its lowest 64 bits
	partition uint32 // as places has it, 0 where the place is not known
	second    uint32 // of arrival, since 1970
}

// shard is a part of the window: a ring of entries in the order in which they
// were settled, and a table from an id to its place in the ring.
type shard struct {
	ring []entry
	// wide has the upper 128 bits of each entry's offset; nil until one has any.
	wide [][2]uint64
	// oldest is the place of the oldest entry, used how many follow from it on,
	// live how many of those are in the table: an id that is seen again after
	// its time leaves the old entry behind.
	oldest, used, live int
	// table is open addressing with linear probing, at most 2/3 full: in the
	// lower bits the place in the ring plus 1, 0 where none is, in the others a
	// tag of the id. The tag alone says where an id belongs, so that the ring,
	// each look at which is a miss of the processor's cache, is looked at for
	// the id that is searched, and seldom for another.
	table []uint32
	lower uint32 // the mask of the lower bits
}

// maxShardEntries is how many entries a shard has at most: as many as leave its tags
// several times as many values as its table has slots.
const maxShardEntries = 1<<14 - 1

func (s *shard) init(entries int) {
	entries = min(max(entries, 1), maxShardEntries)
	s.ring = make([]entry, entries)
	s.table = make([]uint32, entries+entries/2+1)
	s.lower = 1<<bits.Len(uint(entries)) - 1
}

// tag is what a slot says of an id. Other bits than the shard's.
func (s *shard) tag(id *ID) uint32 { return binary.LittleEndian.Uint32(id[4:]) &^ s.lower }

// home is where the search for a tag's ids begins.
func (s *shard) home(tag uint32) int { return int(uint64(tag) * uint64(len(s.table)) >> 32) }

func (s *shard) next(t int) int {
	if t++; t == len(s.table) {
		return 0
	}
	return t
}

// at is the place in the ring that a slot holds.
func (s *shard) at(t int) int { return int(s.table[t]&s.lower) - 1 }

// slot finds an id in the table, or the free slot where it would be.
func (s *shard) slot(id *ID) (t int, ok bool) {
	tag := s.tag(id)
	for t = s.home(tag); s.table[t] != 0; t = s.next(t) {
		if s.table[t]&^s.lower == tag && s.ring[s.at(t)].id == *id {
			return t, true
		}
	}
	return t, false
}

// find returns an id's place in the ring.
func (s *shard) find(id *ID) (i int, ok bool) {
	t, ok := s.slot(id)
	if !ok {
		return 0, false
	}
	return s.at(t), true
}

func (s *shard) packed(i int) packedPosition {
	p := packedPosition{partition: s.ring[i].partition, offset: [3]uint64{s.ring[i].offset}}
	if s.wide != nil {
		p.offset[1], p.offset[2] = s.wide[i][0], s.wide[i][1]
	}
	return p
}

// put adds an entry, and forgets those from before since and, where the ring
// is full, the oldest one. An id that is known stays where it was first.
func (s *shard) put(id *ID, p packedPosition, second, since uint32) {
	for s.used > 0 && s.ring[s.oldest].second < since {
		s.forget()
	}
	if t, ok := s.slot(id); ok {
		if s.ring[s.at(t)].second >= since {
			return
		}
		s.free(t)
	}
	if s.used == len(s.ring) {
		s.forget()
	}
	i := s.oldest + s.used
	if i >= len(s.ring) {
		i -= len(s.ring)
	}
	s.ring[i] = entry{id: *id, offset: p.offset[0], partition: p.partition, second: second}
	if s.wide == nil && p.offset[1]|p.offset[2] != 0 {
		s.wide = make([][2]uint64, len(s.ring))
	}
	if s.wide != nil {
		s.wide[i] = [2]uint64{p.offset[1], p.offset[2]}
	}
	t, _ := s.slot(id)
	s.table[t] = s.tag(id) | uint32(i+1)
	s.used, s.live = s.used+1, s.live+1
}

// forget lets the oldest entry go.
func (s *shard) forget() {
	tag := s.tag(&s.ring[s.oldest].id)
	held := tag | uint32(s.oldest+1)
	for t := s.home(tag); s.table[t] != 0; t = s.next(t) {
		if s.table[t] == held {
			s.free(t)
			break
		}
	}
	s.used--
	if s.oldest++; s.oldest == len(s.ring) {
		s.oldest = 0
	}
}

// free empties a slot of the table, and moves up what was behind it because it
// was taken, so that every search still ends at the first free slot.
func (s *shard) free(t int) {
	s.live--
	for {
		s.table[t] = 0
		for n := s.next(t); ; n = s.next(n) {
			if s.table[n] == 0 {
				return
			}
			home := s.home(s.table[n] &^ s.lower)
			// It stays where its home lies cyclically in (t, n].
			if t < n && (home <= t || home > n) || t > n && home <= t && home > n {
				s.table[t], t = s.table[n], n
				break
			}
		}
	}
}
