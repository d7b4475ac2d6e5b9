package distribution

import (
	"encoding/binary"
	"encoding/json"
	"slices"

	"whittle"
	"whittle/carve/compare/display"
	"whittle/carve/compare/eprocess"
	"whittle/carve/compare/header"
)

// statisticalVersion is that of the kept state.
const statisticalVersion = 2

// keptStatistical is the state as it is written: JSON, which is bounded by the
// bounds of its parts and never holds a number that is not finite.
type keptStatistical struct {
	Version int `json:"version"`
	statisticalState
	// Memory is repeatsEprocess's two memories, little endian.
	Memory []byte `json:"memory"`
}

// MarshalBinary implements encoding.BinaryMarshaler.
func (s *Method) MarshalBinary() ([]byte, error) {
	k := keptStatistical{Version: statisticalVersion, statisticalState: s.statisticalState}
	for _, words := range s.Repeats.words() {
		for _, w := range words {
			k.Memory = binary.LittleEndian.AppendUint32(k.Memory, w)
		}
	}
	b, err := json.Marshal(&k)
	if err != nil {
		return nil, whittle.Errorf(whittle.Internal, "keep evidence: %w", err)
	}
	return b, nil
}

// UnmarshalBinary implements encoding.BinaryUnmarshaler. What could not have
// been written is refused, and leaves the state as it was.
func (s *Method) UnmarshalBinary(b []byte) error {
	var k keptStatistical
	if err := json.Unmarshal(b, &k); err != nil {
		return whittle.Errorf(whittle.Invalid, "restore evidence: %w", err)
	}
	if k.Version != statisticalVersion {
		return whittle.Errorf(whittle.Unsupported, "restore evidence: version %d is not known", k.Version)
	}
	if len(k.Memory) != 4*4*repeatSlots || !k.valid() {
		return whittle.Errorf(whittle.Invalid, "restore evidence: the state is not a possible one")
	}
	rest := k.Memory
	for _, words := range k.Repeats.words() {
		for i := range words {
			words[i] = binary.LittleEndian.Uint32(rest)
			rest = rest[4:]
		}
	}
	s.statisticalState = k.statisticalState
	return nil
}

// words are the memories' tables, in the order in which they are kept.
func (w *repeatsEprocess) words() [4][]uint32 {
	return [4][]uint32{w.candidate.marks[:], w.candidate.seconds[:], w.monolith.marks[:], w.monolith.seconds[:]}
}

func (k *keptStatistical) valid() bool {
	for _, b := range []*eprocess.Bets{
		&k.Mean.Bets, &k.Spread.Single, &k.Spread.Double, &k.Distribution.Bets,
		&k.Repeats.Bets, &k.Repeats.Own, &k.Wrong.Bets, &k.Blank.Bets, &k.Again.Bets,
	} {
		if !b.Valid() {
			return false
		}
	}
	return k.N >= 0 && k.Wording.Valid(header.ChangesMost) && k.Mean.Skill.valid() && k.Again.Skill.valid() &&
		k.Spread.SingleSkill.valid() && k.Spread.DoubleSkill.valid() && k.Strata.restore() && k.Evidence.valid() && k.counted() &&
		k.MeanSums.valid() && k.SpreadSums.Valid() && k.DistributionSums.valid()
}

// counted reports whether the counts agree with each other.
func (k *keptStatistical) counted() bool {
	if slices.Min(k.Distribution.X[:]) < 0 || slices.Min(k.Distribution.Y[:]) < 0 {
		return false
	}
	r, w, b := &k.Repeats, &k.Wrong, &k.Blank
	return eprocess.UpTo(r.X, r.N) && eprocess.UpTo(r.Y, r.N) && eprocess.UpTo(r.SameSecond, r.Y) &&
		eprocess.UpTo(w.X, w.N) && eprocess.UpTo(w.Y, w.N) &&
		eprocess.UpTo(b.X, b.N) && eprocess.UpTo(b.Y, b.N) && len(b.Samples) <= display.MaxSamples
}

func (s *meanSums) valid() bool {
	return s.N >= 0 && s.Square >= 0 && s.Level >= 0 && s.Reach >= 0 && s.WarmAbs >= 0 &&
		eprocess.Within(1e18, s.Sum, s.Square) && eprocess.Within(1e80, s.Level, s.Reach, s.WarmAbs) &&
		eprocess.UpTo(s.Warm.N, warmUp) && s.Warm.valid()
}

func (s *distributionSums) valid() bool {
	for b := range s.Sum {
		if !eprocess.UpTo(s.Square[b], s.N) || s.Sum[b] > s.Square[b] || s.Sum[b] < -s.Square[b] {
			return false
		}
	}
	return s.N >= 0
}
