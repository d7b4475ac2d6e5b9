package whittle

import (
	"errors"
	"fmt"
)

// Code classifies an error once, where it arises. Each edge (HTTP, Twirp,
// Connect, the exit status) translates the code by the tables below and never
// by looking at the text.
type Code int

// The codes, in the field's usual sense of each word.
const (
	Internal           Code = iota // a defect of whittle's own; the zero value
	Invalid                        // the caller's input is wrong; retrying as it is will not help
	NotFound                       // the thing named does not exist
	Unauthenticated                // no credential, or one that is not known
	PermissionDenied               // a known caller who may not do this
	FailedPrecondition             // right input, wrong moment: the state forbids it
	ResourceExhausted              // a bound was reached: size, count, rate or space
	Canceled                       // the caller went away
	DeadlineExceeded               // time ran out
	Unavailable                    // an upstream or a dependency cannot be reached; a retry may help
	Unsupported                    // well formed, but not something that is done here
	FallsShort                     // the thing measured is not what was asked for
)

type codeRow struct {
	name string // the Twirp and Connect name of the code
	http int    // the HTTP status
	exit int    // the process's exit status
}

// codeRows is the one table from a code to what each edge says.
var codeRows = map[Code]codeRow{
	Internal:           {"internal", 500, 3},
	Invalid:            {"invalid_argument", 400, 2},
	NotFound:           {"not_found", 404, 2},
	Unauthenticated:    {"unauthenticated", 401, 3},
	PermissionDenied:   {"permission_denied", 403, 3},
	FailedPrecondition: {"failed_precondition", 409, 1},
	ResourceExhausted:  {"resource_exhausted", 429, 3},
	Canceled:           {"canceled", 499, 3},
	DeadlineExceeded:   {"deadline_exceeded", 504, 3},
	Unavailable:        {"unavailable", 503, 3},
	Unsupported:        {"unimplemented", 501, 2},
	FallsShort:         {"failed_precondition", 409, 1},
}

func (c Code) row() codeRow {
	if r, ok := codeRows[c]; ok {
		return r
	}
	return codeRows[Internal]
}

// String is the code's name as Twirp and Connect spell it.
func (c Code) String() string { return c.row().name }

// HTTPStatus is the status that an HTTP edge responds with.
func (c Code) HTTPStatus() int { return c.row().http }

// ExitStatus is what a command ends with: 1 the thing measured falls short,
// 2 bad usage or a bad config, 3 could not run.
func (c Code) ExitStatus() int { return c.row().exit }

// Error is the one coded error of the module.
type Error struct {
	Code Code
	// Message is for the operator: lower case, what was being done.
	Message string
	// Hint says what to do about it. Empty: nothing better than the message.
	Hint string
	// Field is the config path the error is about, such as
	// "routes[0].compare.per", so that package config can give file, line and
	// column. Empty: no config field is at fault.
	Field string
	// Err is the cause. It is for logs and never shown to an end user.
	Err error
}

// Error gives message and cause, without the hint.
func (e *Error) Error() string {
	if e.Err == nil {
		return e.Message
	}
	if e.Message == "" {
		return e.Err.Error()
	}
	return e.Message + ": " + e.Err.Error()
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes a coded error; %w keeps the cause reachable.
func Errorf(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	if cause := errors.Unwrap(err); cause != nil {
		return &Error{Code: code, Err: err}
	}
	return &Error{Code: code, Message: err.Error()}
}

// WithHint returns a copy that says what to do.
func (e *Error) WithHint(hint string) *Error {
	c := *e
	c.Hint = hint
	return &c
}

// WithField returns a copy that names the config field at fault.
func (e *Error) WithField(field string) *Error {
	c := *e
	c.Field = field
	return &c
}

// Within puts a config field before the one of a coded error, or of each of several that are
// joined. Any other error and nil are returned as they are.
func Within(field string, err error) error {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, one := range many.Unwrap() {
			all = append(all, Within(field, one))
		}
		return errors.Join(all...)
	}
	e, ok := errors.AsType[*Error](err)
	switch {
	case !ok:
		return err
	case e.Field == "":
		return e.WithField(field)
	}
	return e.WithField(field + "." + e.Field)
}

// Public returns what a client may know of err: its message and hint, without the
// cause, which is for the log. words has a text for each code, for an error without
// a message.
func Public(err error, words map[Code]string) (Code, string) {
	e, ok := errors.AsType[*Error](err)
	switch {
	case !ok || e.Code == Internal:
		return Internal, "internal error"
	case e.Message != "" && e.Hint != "":
		return e.Code, e.Message + "; " + e.Hint
	case e.Message != "":
		return e.Code, e.Message
	case words[e.Code] != "":
		return e.Code, words[e.Code]
	}
	return e.Code, e.Code.String()
}

// CodeOf returns the code of the nearest coded error in err's chain, or Internal if
// there is none.
func CodeOf(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return Internal
}

// Check panics with err, if it is not nil, to end the reading of a document.
func Check(err error) {
	if err != nil {
		panic(err)
	}
}

// Caught stores the error that ended the reading of a document. The function that
// begins the reading defers it. Readers of plans and contracts panic with the first
// mistake, since none of them goes on after one. A panic with anything but a coded
// error goes on.
func Caught(err *error) {
	switch e := recover().(type) {
	case nil:
	case *Error:
		*err = e
	default:
		panic(e)
	}
}
