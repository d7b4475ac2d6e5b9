package config

import (
	"errors"
	"strings"

	"whittle"
)

// nearest gives the position of a field, or of the nearest one around it that
// the file has: a default that is at fault stands nowhere, but its route does.
func nearest(where map[string]position, field string) position {
	for field != "" {
		if p, ok := where[field]; ok {
			return p
		}
		field = field[:max(strings.LastIndexByte(field, '.'), strings.LastIndexByte(field, '['), 0)]
	}
	return top
}

// Locate says where in the file an error that was found later belongs: an
// error that carries a Field counted from the file, such as
// "routes[0].compare.per", comes back with file, line, column and field in
// front of its message, its code, hint and cause kept. A join of errors is
// located one by one, any other error and nil are returned as they are.
func (f *File) Locate(err error) error {
	if err == nil {
		return nil
	}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var out []error
		for _, e := range many.Unwrap() {
			out = append(out, f.Locate(e))
		}
		return errors.Join(out...)
	}
	e, ok := errors.AsType[*whittle.Error](err)
	if !ok || e.Field == "" || f.sources.placedIn(err.Error()) {
		return err
	}
	c := *e
	text := f.sources.placed(problem{nearest(f.where, e.Field), e.Field, err.Error()})
	if e.Err == nil {
		c.Message = text
	} else {
		c.Message, c.Err = "", &located{text: text, cause: e.Err}
	}
	return &c
}

// located keeps a cause reachable under a text that says where it belongs.
type located struct {
	text  string
	cause error
}

func (l *located) Error() string { return l.text }
func (l *located) Unwrap() error { return l.cause }
