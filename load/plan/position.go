package plan

import (
	"fmt"

	"whittle"
)

// Position is a position in a plan's file, for errors.
type Position struct {
	File      string
	Line, Col int // from 1
}

// Errorf makes an error with the position.
func (p Position) Errorf(code whittle.Code, format string, args ...any) error {
	return whittle.Errorf(code, "%s:%d:%d: %s", p.File, p.Line, p.Col, fmt.Sprintf(format, args...))
}

// Invalid is Errorf with the code whittle.Invalid: a mistake in the plan.
func (p Position) Invalid(format string, args ...any) error {
	return p.Errorf(whittle.Invalid, format, args...)
}

// before orders positions of one file.
func (p Position) before(o Position) bool {
	return p.Line < o.Line || p.Line == o.Line && p.Col < o.Col
}
