package evidence

import (
	"encoding/json"

	"whittle"
)

// MaxOutcomes bounds those of one message.
const MaxOutcomes = 2048

const outcomesVersion = 1

// outcomes are users' outcomes of one route as they are sent.
type outcomes struct {
	Version  int               `json:"version"`
	Outcomes []whittle.Outcome `json:"outcomes"`
}

// EncodeOutcomes writes outcomes, at most MaxOutcomes of them.
func EncodeOutcomes(all []whittle.Outcome) ([]byte, error) {
	return json.Marshal(outcomes{outcomesVersion, all[:min(len(all), MaxOutcomes)]})
}

// Outcomes reads what EncodeOutcomes wrote; false: it did not.
func Outcomes(b []byte) (all []whittle.Outcome, ok bool) {
	var m outcomes
	if len(b) > MaxMessage || json.Unmarshal(b, &m) != nil || m.Version != outcomesVersion || len(m.Outcomes) > MaxOutcomes {
		return nil, false
	}
	return m.Outcomes, true
}
