package replay

import (
	"fmt"

	"whittle/record/capture"
)

// inputs tells the log's distinct requests apart, within a bound, and what became
// of each.
type inputs map[capture.RequestKey]inputState

type inputState uint8

const (
	inputCompared inputState = 1 << iota
	inputDiffers
)

// see notes a request.
func (in inputs) see(k capture.RequestKey) {
	if _, known := in[k]; !known && len(in) < seenMost {
		in[k] = 0
	}
}

func (in inputs) mark(k capture.RequestKey, s inputState) {
	if was, known := in[k]; known {
		in[k] = was | s
	}
}

// Inputs says how many of the log's distinct requests the replay is about. Two
// requests are the same by method, target, body, and the headers that say who asks
// and for what.
type Inputs struct {
	// Recorded are in the log, Compared of these had an exchange compared,
	// Differing of these had one with a different response.
	Recorded  int `json:"recorded"`
	Compared  int `json:"compared"`
	Differing int `json:"differing"`
	// More says that there were more of them than are told apart.
	More bool `json:"more,omitempty"`
}

func (in inputs) sum() Inputs {
	s := Inputs{Recorded: len(in), More: len(in) >= seenMost}
	for _, state := range in {
		if state&inputCompared != 0 {
			s.Compared++
		}
		if state&inputDiffers != 0 {
			s.Differing++
		}
	}
	return s
}

// Words are "40 distinct recorded inputs".
func (s Inputs) Words() string {
	switch {
	case s.More:
		return fmt.Sprintf("more than %d distinct recorded inputs", s.Recorded)
	case s.Recorded == 1:
		return "1 distinct recorded input"
	}
	return fmt.Sprintf("%d distinct recorded inputs", s.Recorded)
}
