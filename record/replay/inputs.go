package replay

import (
	"fmt"

	"whittle/record/capture"
)

// inputs tracks the log's distinct requests, up to a bound, and what became of
// each.
type inputs map[capture.RequestKey]inputState

type inputState uint8

const (
	inputCompared inputState = 1 << iota
	inputDiffers
)

// see adds a request.
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

// Inputs counts the log's distinct requests. Two requests are the same if they
// have the same method, target, body, and headers that identify the caller and
// negotiate the content.
type Inputs struct {
	// Recorded requests are in the log. Compared of these had an exchange
	// compared, and Differing had one with a different response.
	Recorded  int `json:"recorded"`
	Compared  int `json:"compared"`
	Differing int `json:"differing"`
	// More says that the log has more distinct requests than are tracked.
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

// Text returns "40 distinct recorded inputs".
func (s Inputs) Text() string {
	switch {
	case s.More:
		return fmt.Sprintf("more than %d distinct recorded inputs", s.Recorded)
	case s.Recorded == 1:
		return "1 distinct recorded input"
	}
	return fmt.Sprintf("%d distinct recorded inputs", s.Recorded)
}
