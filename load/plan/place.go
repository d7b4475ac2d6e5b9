package plan

import (
	"fmt"

	"whittle"
)

// Place is where something stands in a plan's file, for errors.
type Place struct {
	File      string
	Line, Col int // from 1
}

// Errorf makes an error that points there.
func (p Place) Errorf(code whittle.Code, format string, args ...any) error {
	return whittle.Errorf(code, "%s:%d:%d: %s", p.File, p.Line, p.Col, fmt.Sprintf(format, args...))
}

// Invalid is errorf for a mistake of the plan's author.
func (p Place) Invalid(format string, args ...any) error {
	return p.Errorf(whittle.Invalid, format, args...)
}

// before orders places of one file.
func (p Place) before(o Place) bool {
	return p.Line < o.Line || p.Line == o.Line && p.Col < o.Col
}
