package whittle_test

import (
	"errors"
	"testing"

	"whittle"
	"whittle/internal/fatal"
)

// A field that was found at fault is placed under the one that has it, each of a join by itself.
func TestWithin(t *testing.T) {
	plain := errors.New("disk full")
	bare := whittle.Errorf(whittle.Invalid, "no file")
	inner := bare.WithField("compare.per")
	joined := whittle.Within("redact", errors.Join(plain, inner, bare))
	var got []string
	for _, err := range joined.(interface{ Unwrap() []error }).Unwrap() {
		e, _ := errors.AsType[*whittle.Error](err)
		if e == nil {
			e = &whittle.Error{Field: "(none)"}
		}
		got = append(got, e.Field)
	}
	fatal.Same(t, got, []string{"(none)", "redact.compare.per", "redact"}, "fields")
	fatal.If(t, whittle.Within("a", nil))
	if err := whittle.Within("a", plain); !errors.Is(err, plain) {
		t.Errorf("of another error: %v", err)
	}
	if inner.Field != "compare.per" || bare.Field != "" {
		t.Error("the errors themselves were changed")
	}
}
