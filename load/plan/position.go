package plan

import (
	"fmt"

	"whittle"
)

// Position is where something stands in a plan's file, for errors.
type Position struct {
	File      string
	Line, Col int // from 1
}

// Errorf makes an error that points there.
func (p Position) Errorf(code whittle.Code, format string, args ...any) error {
	return whittle.Errorf(code, "%s:%d:%d: %s", p.File, p.Line, p.Col, fmt.Sprintf(format, args...))
}

// Invalid is errorf for a mistake of the plan's author.
func (p Position) Invalid(format string, args ...any) error {
	return p.Errorf(whittle.Invalid, format, args...)
}

// before orders places of one file.
func (p Position) before(o Position) bool {
	return p.Line < o.Line || p.Line == o.Line && p.Col < o.Col
}
