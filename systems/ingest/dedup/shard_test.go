package dedup

import (
	"math/big"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"whittle/systems/ingest/stream"
)

// model is the window of one shard in the plainest way: a list of what was
// seen, oldest first.
type model struct {
	entries, age int
	list         []seen
	pending      map[ID]bool
}

type seen struct {
	id   ID
	at   stream.Position
	when int
	old  bool // seen again after its time
}

func (m *model) find(id ID) int {
	return slices.IndexFunc(m.list, func(s seen) bool { return s.id == id && !s.old })
}

func (m *model) claim(id ID, now int) (State, stream.Position) {
	if m.pending[id] {
		return Pending, stream.Position{}
	}
	if i := m.find(id); i >= 0 && m.list[i].when >= now-m.age {
		return Duplicate, m.list[i].at
	}
	m.pending[id] = true
	return First, stream.Position{}
}

func (m *model) put(id ID, at stream.Position, when int) {
	for len(m.list) > 0 && m.list[0].when < when-m.age {
		m.list = m.list[1:]
	}
	if i := m.find(id); i >= 0 {
		if m.list[i].when >= when-m.age {
			return
		}
		m.list[i].old = true
	}
	if len(m.list) == m.entries {
		m.list = m.list[1:]
	}
	m.list = append(m.list, seen{id: id, at: at, when: when})
}

func (m *model) live() (n int) {
	for _, s := range m.list {
		if !s.old {
			n++
		}
	}
	return n
}

// TestWindowIsItsModel tries windows of few entries with ids that lie close
// together in the table, so that every search has to go on.
func TestWindowIsItsModel(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 3))
		m := &model{entries: 1 + r.IntN(20), age: 1 + r.IntN(30), pending: map[ID]bool{}}
		w := New(Options{Entries: m.entries, Age: time.Duration(m.age) * time.Second})
		ids := make([]ID, 2+r.IntN(40))
		for i := range ids {
			ids[i] = ID{0: byte(r.Uint32()), 7: byte(r.Uint32()) & 0xf0, 15: byte(i)}
		}
		now := 1000
		moment := func(n int) time.Time { return time.Unix(int64(n), 0) }
		for step := range 400 {
			now += r.IntN(4) - 1 // clocks go back as well
			id := ids[r.IntN(len(ids))]
			at := stream.Position{Partition: strconv.Itoa(r.IntN(3)), Offset: strconv.Itoa(step)}
			switch r.IntN(5) {
			case 0, 1:
				c := w.Claim([]ID{id}, moment(now), nil)[0]
				if state, at := m.claim(id, now); c.State != state || c.Position != at {
					t.Fatalf("seed %d, step %d: %+v, want %d at %v", seed, step, c, state, at)
				}
			case 2:
				w.Settle([]ID{id}, []stream.Position{at}, moment(now))
				m.put(id, at, now)
				delete(m.pending, id)
			case 3:
				w.Release([]ID{id})
				delete(m.pending, id)
			default:
				w.learn(id, at, second(moment(now)))
				m.put(id, at, now)
			}
			if w.Len() != m.live() || w.pending.used != len(m.pending) {
				t.Fatalf("seed %d, step %d: %d entries, want %d", seed, step, w.Len(), m.live())
			}
			for _, id := range ids {
				i, ok := w.shards[0].find(&id)
				k := m.find(id)
				if ok != (k >= 0) || ok && w.partitions.unpack(w.shards[0].packed(i)) != m.list[k].at {
					t.Fatalf("seed %d, step %d: known %v, want %v", seed, step, ok, k >= 0)
				}
			}
		}
	}
}

func TestOffsets(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 4))
	limit := new(big.Int).Lsh(big.NewInt(1), 192)
	for range 20_000 {
		digits := make([]byte, 1+r.IntN(60))
		for i := range digits {
			digits[i] = '0' + byte(r.IntN(10))
		}
		s := string(digits)
		n, _ := new(big.Int).SetString(s, 10)
		want := n.Cmp(limit) < 0 && (s == "0" || s[0] != '0')
		v, ok := parseOffset(s)
		if ok != want || ok && formatOffset(v) != s {
			t.Fatalf("%s: %v as %s, want %v", s, ok, formatOffset(v), want)
		}
	}
	most := new(big.Int).Sub(limit, big.NewInt(1)).String()
	if v, ok := parseOffset(most); !ok || formatOffset(v) != most {
		t.Errorf("%s: %v", most, ok)
	}
	for _, s := range []string{"", "-1", "+1", "1 ", "0x1", "00", "01", limit.String(), strings.Repeat("9", 400)} {
		if _, ok := parseOffset(s); ok {
			t.Errorf("%q is an offset", s)
		}
	}
}

func TestPartitionsAreBounded(t *testing.T) {
	var p partitionNames
	for i := range maxPartitions + 2 {
		at := stream.Position{Partition: strconv.Itoa(i), Offset: "1"}
		back := p.unpack(p.pack(at))
		if want := i < maxPartitions; (back == at) != want || !want && back != (stream.Position{}) {
			t.Fatalf("partition %d comes back as %+v", i, back)
		}
	}
}

// TestShardsAreSmall holds the number of entries to what a tag can tell apart.
func TestShardsAreSmall(t *testing.T) {
	for _, entries := range []int{1, 1023, 2048, maxShardEntries, maxShardEntries + 1, 64 * maxShardEntries, 64*maxShardEntries + 1, 3_000_000} {
		w := New(Options{Entries: entries})
		all := 0
		for i := range w.shards {
			all += len(w.shards[i].ring)
		}
		if n := len(w.shards[0].ring); n > maxShardEntries || all > entries || all < entries*99/100 {
			t.Errorf("%d entries: %d shards of %d", entries, len(w.shards), n)
		}
	}
}
