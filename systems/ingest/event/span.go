package event

// span is a part of the body, in bytes. The zero value is none: no part that
// is kept begins where the body does.
type span struct{ from, to uint32 }

func (s span) none() bool { return s.to == 0 }

func (s span) len() int { return int(s.to - s.from) }

func (s span) of(b []byte) []byte { return b[s.from:s.to] }
