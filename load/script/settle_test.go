package script

import (
	"errors"
	"testing"
)

// TestACallThatSettlesAgainMeanwhile: what takes the result may run script, which may call
// back once more.
func TestACallThatSettlesAgainMeanwhile(t *testing.T) {
	r := newRuntime(t, Options{})
	var again func(error)
	_, err := r.Invoke(t.Context(), func(_ *VM, done func(error)) error {
		again = done
		done(nil)
		return nil
	}, func(*VM) error {
		again(errors.New("too late"))
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
