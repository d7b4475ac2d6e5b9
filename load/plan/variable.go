package plan

import (
	"whittle/load/expr"
)

// Fill sets the variable for one virtual user.
func (v *Variable) Fill(s *expr.Scope) {
	i := 0
	if len(v.Choices) > 1 {
		i = s.RNG.IntN(len(v.Choices))
	}
	s.Values[v.Slot] = v.Choices[i]
	if v.Texts != nil && v.Texts[i] != nil {
		if d, ok := expr.ParseDocument(string(v.Texts[i].Render(nil, s))); ok {
			s.Values[v.Slot] = d.Value()
		}
	}
}
