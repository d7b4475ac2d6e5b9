package form

import (
	"encoding/binary"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"whittle"
	"whittle/carve/compare/eprocess"
	"whittle/carve/compare/twosample"
)

// formStateMost bounds the state of what is compared by form, in bytes.
const formStateMost = 208 << 10

// formState is what is kept. Of values only hashes are, and the last numbers of a place
// that is known to be a counter.
type formState struct {
	Paths  []formPathState `json:"paths,omitempty"`
	Fields []uint64        `json:"fields,omitempty"`
	More   bool            `json:"more,omitempty"`
	// Dropped places made the state too long; theirs are not given again.
	Dropped int `json:"dropped,omitempty"`
}

type formPathState struct {
	pathState
	// Features are those of which something is known, nil the others.
	Features []*feature `json:"f"`
	Orders   [2][]int64 `json:"orders"`
	// Recent are the hashes of each side's last values, oldest first, in 4 bytes each.
	Recent [2][]byte  `json:"recent"`
	More   *moreState `json:"more,omitempty"`
}

// pathState is what is kept of a place as it is.
type pathState struct {
	Path string `json:"p"`
	Born int    `json:"born"`
	// Varies are the ways in which the monolith varies there.
	Varies []string `json:"v"`
	// Offsets are those of the monolith's last times, in ms; Off is a recent one of
	// the candidate that lay elsewhere.
	Offsets []int64 `json:"o,omitempty"`
	Off     int64   `json:"off,omitempty"`
	// Ages are how far the monolith's last times are from their Dates, in ms; Lag is
	// how much older one of the candidate's was.
	Ages []int64 `json:"ages,omitempty"`
	Lag  int64   `json:"lag,omitempty"`
	// Of Ranked values of the monolith so many rose, or fell.
	Rises  int `json:"rises,omitempty"`
	Sinks  int `json:"sinks,omitempty"`
	Ranked int `json:"ranked,omitempty"`
	// Words counts hashes of the monolith's words, of which there were Worded.
	Words  map[uint64]int `json:"words,omitempty"`
	Worded int            `json:"worded,omitempty"`
	// Samples are exchanges in which the candidate's form was unusual.
	Samples []whittle.Sample `json:"s,omitempty"`
}

// State is what is known, in bounded length: the latest places are left out first.
func (f *Forms) State() json.RawMessage {
	s := formState{Dropped: f.dropped, Fields: slices.Sorted(maps.Keys(f.fields.at)), More: f.fields.more}
	for _, p := range f.paths {
		k := formPathState{
			pathState: p.pathState, Features: p.known(), More: p.more(),
			Recent: [2][]byte{p.recent[Monolith].pack(), p.recent[Candidate].pack()},
		}
		if p.counter() {
			k.Orders = p.orders
		}
		s.Paths = append(s.Paths, k)
	}
	for {
		b, err := json.Marshal(&s)
		if err != nil {
			return nil
		}
		if len(b) <= formStateMost || len(s.Paths) == 0 {
			return b
		}
		keep := min(len(s.Paths)-1, len(s.Paths)*formStateMost/len(b))
		s.Dropped += len(s.Paths) - keep
		s.Paths = s.Paths[:keep]
	}
}

// Restore takes what state gave, after n exchanges; an empty state is one of before
// there were forms.
func (f *Forms) Restore(b json.RawMessage, n int) error {
	if len(b) == 0 {
		return nil
	}
	var s formState
	if err := json.Unmarshal(b, &s); err != nil {
		return whittle.Errorf(whittle.Invalid, "read what is compared by form: %w", err)
	}
	if len(s.Paths) > formPaths || len(s.Fields) > fieldsMost || s.Dropped < 0 {
		return ErrState
	}
	var paths []*formPath
	for i := range s.Paths {
		p, ok := s.Paths[i].restored(n, f.rule(s.Paths[i].Path), f.varies())
		if !ok {
			return ErrState
		}
		paths = append(paths, p)
	}
	f.paths, f.index, f.below, f.samples = nil, map[uint64]int{}, map[uint64]bool{}, 0
	for i, p := range paths {
		f.put(p)
		f.samples += len(p.Samples)
		if !p.take(s.Paths[i].More, n) {
			return ErrState
		}
	}
	f.fields = newFieldCount()
	f.fields.more = s.More
	for _, h := range s.Fields {
		f.fields.at[h] = true
	}
	f.known, f.dropped = 0, s.Dropped
	return nil
}

func (s *formPathState) restored(n int, rule string, holds bool) (*formPath, bool) {
	if len(s.Words) > wordsMost+1 || s.Worded < 0 || len(s.Recent[0]) > 4*remembered || len(s.Recent[1]) > 4*remembered || len(s.Orders[0]) > ordersKept || len(s.Orders[1]) > ordersKept {
		return nil, false
	}
	if s.Born < 0 || s.Born > n || len(s.Varies) > 16 || len(s.Offsets) > offsetsKept || len(s.Ages) > offsetsKept || len(s.Samples) > formSamples || len(s.Features) > features || !eprocess.UpTo(s.Rises, s.Ranked) || !eprocess.UpTo(s.Sinks, s.Ranked) || s.Ranked > 64 {
		return nil, false
	}
	p := newFormPath(s.Path, s.Born, rule)
	p.holds = holds
	if p.pathState = s.pathState; p.Words == nil {
		p.Words = map[uint64]int{}
	}
	for i, t := range s.Features {
		if t != nil {
			p.feature[i] = *t
		}
	}
	p.orders = s.Orders
	for side := range p.recent {
		p.recent[side].unpack(s.Recent[side])
	}
	for i := range p.feature {
		if t := &p.feature[i]; !t.valid() || t.Of > n || t.Bets.At > n {
			return nil, false
		}
	}
	return p, true
}

// known are the features of which something is known.
func (p *formPath) known() []*feature {
	list := make([]*feature, features)
	for i := range p.feature {
		if t := &p.feature[i]; t.M.N+t.C.N+t.R.N > 0 {
			list[i] = t
		}
	}
	return list
}

// ShowAgain redacts what was restored.
func (f *Forms) ShowAgain() {
	if f == nil {
		return
	}
	for _, p := range f.paths {
		f.Show.Again(p.Samples, trailOf(p.Path))
	}
}

// pack writes the values, oldest first.
func (m *recentValues) pack() []byte {
	var b []byte
	for i := range m.ring {
		b = binary.LittleEndian.AppendUint32(b, m.ring[(m.next+i)%len(m.ring)])
	}
	return b
}

func (m *recentValues) unpack(b []byte) {
	for ; len(b) >= 4; b = b[4:] {
		m.add(binary.LittleEndian.Uint32(b))
	}
}

// ErrState is the error for state that cannot have come from comparing.
var ErrState = whittle.Errorf(whittle.Invalid, "state of what is compared by form contradicts itself").
	WithHint("it was not written for this comparison; start the route's evidence anew")

// moreState is what is kept of a place's sets, pairs and numbers: hashes, in 8 bytes each, the
// last numbers, and since when something is watched, in ns.
type moreState struct {
	Members []byte `json:"m,omitempty"`
	Many    bool   `json:"many,omitempty"`
	still
	Watched [len(watchedFeatures)]watch `json:"w"`
	Ends    ends                        `json:"e,omitzero"`
	// Anew says that the monolith was seen to draw each value anew.
	Anew     bool             `json:"anew,omitempty"`
	Slow     slowRise         `json:"slow,omitzero"`
	Wanders  []float64        `json:"gauge,omitempty"` // see wandering.packed
	Alike    *twosample.State `json:"alike,omitempty"`
	Paired   *int             `json:"from,omitempty"` // nil: of before there were pairs
	Partners []*partnerState  `json:"p,omitempty"`    // nil: the values do not follow from it
	Chars    []byte           `json:"c,omitempty"`    // how many of which there were where
}

type partnerState struct {
	To    []byte `json:"to,omitempty"`
	Spent []byte `json:"s,omitempty"`
	Again int    `json:"again,omitempty"`
	Tries int    `json:"tries,omitempty"`
}

// moment is a time in nanoseconds of Unix; 0: none.
type moment int64

func momentOf(t time.Time) moment {
	if t.IsZero() {
		return 0
	}
	return moment(t.UnixNano())
}

// lies reports whether a moment lies so long before a time; false where either is none.
func (m moment) lies(long time.Duration, before time.Time) bool {
	return m != 0 && !before.IsZero() && before.UnixNano()-int64(m) >= int64(long)
}

// appendPairs writes a map, in the order of its keys; takePairs reads it.
func appendPairs[T ~uint64 | ~int64](of map[uint64]T) (b []byte) {
	for _, key := range slices.Sorted(maps.Keys(of)) {
		b = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, key), uint64(of[key]))
	}
	return b
}

func takePairs[T ~uint64 | ~int64](b []byte) map[uint64]T {
	of := map[uint64]T{}
	for ; len(b) >= 16; b = b[16:] {
		of[binary.LittleEndian.Uint64(b)] = T(binary.LittleEndian.Uint64(b[8:]))
	}
	return of
}

// more is what is to be kept.
func (p *formPath) more() *moreState {
	s := &moreState{
		Many: p.members.more, still: p.still, Ends: p.ends, Slow: p.slow, Chars: p.chars.pack(), Alike: p.alike.State(), Paired: &p.paired,
		Anew: !p.draws.holds(), Wanders: p.wanders.packed(),
	}
	for _, h := range slices.Sorted(maps.Keys(p.members.of)) {
		s.Members = binary.LittleEndian.AppendUint64(s.Members, h)
	}
	for i, k := range watchedFeatures {
		s.Watched[i] = p.watched[k]
	}
	for _, t := range p.partners {
		var k *partnerState
		if !t.over {
			k = &partnerState{To: appendPairs(t.to), Spent: appendPairs(t.spent), Again: t.again, Tries: t.tries}
		}
		s.Partners = append(s.Partners, k)
	}
	return s
}

// take restores what was kept after n exchanges; false: it is not a possible state.
func (p *formPath) take(s *moreState, n int) bool {
	if p.paired = n; s == nil { // of a version that kept none
		return true
	}
	if s.Paired != nil {
		p.paired = *s.Paired
	}
	if len(s.Members) > 8*membersMost || len(s.Partners) > len(p.partners) || p.paired < 0 || p.paired > n {
		return false
	}
	var ok bool
	if len(s.Chars) > 0 {
		if p.chars, ok = unpackChars(s.Chars); !ok {
			return false
		}
	}
	if p.members.more = s.Many; len(s.Members) > 0 {
		p.members.of = map[uint64]bool{}
	}
	for b := s.Members; len(b) >= 8; b = b[8:] {
		p.members.of[binary.LittleEndian.Uint64(b)] = true
	}
	for i, k := range watchedFeatures {
		p.watched[k] = s.Watched[i]
	}
	if p.still, p.ends, p.slow = s.still, s.Ends, s.Slow; !eprocess.UpTo(p.slow.Rises, p.slow.Ranked) || !eprocess.UpTo(p.slow.Sinks, p.slow.Ranked) {
		return false
	}
	if s.Anew {
		p.draws.newer, p.draws.new = drawsKnown, drawsKnown
	}
	if p.alike, ok = twosample.Restored(s.Alike); !ok || !p.wanders.unpack(s.Wanders) {
		return false
	}
	for i, k := range s.Partners {
		t := p.partners[i]
		if t.over = k == nil; t.over {
			continue
		}
		if len(k.To) > 16*pairKeys || len(k.Spent) > 16*pairWrong || k.Again < 0 || k.Tries < k.Again {
			return false
		}
		if t.again, t.tries = k.Again, k.Tries; t.tries > 0 {
			t.begin(takePairs[uint64](k.To), takePairs[moment](k.Spent))
		}
	}
	return true
}
