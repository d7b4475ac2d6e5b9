package lifetime

import (
	"context"
	"errors"
	"testing"
)

// pairs are values.
type pairs map[any]any

func (p pairs) Value(key any) any { return p[key] }

// TestContext: what waits for a context's end learns of it once, whichever way it waits,
// and what has stopped waiting does not.
func TestContext(t *testing.T) {
	c := New(pairs{"a": 1})
	if _, ok := c.Deadline(); ok || c.Err() != nil || c.Value("a") != 1 || c.Value("b") != nil {
		t.Errorf("a new context has %v, %v, %v", c.Err(), c.Value("a"), c.Value("b"))
	}
	heard := make(chan string, 10)
	tell := func(text string) func() { return func() { heard <- text } }
	child, cancel := context.WithCancel(c)
	defer cancel()
	if !c.AfterFunc(tell("stopped"))() || !c.Watch(tell("stopped"))() {
		t.Error("it was too late to stop")
	}
	c.Watch(tell("watch"))
	c.Watch(tell("another"))
	context.AfterFunc(c, tell("after"))
	done := c.Done()
	c.Cancel()
	c.Cancel()
	<-done
	<-child.Done()
	got := map[string]bool{}
	for range 3 {
		got[<-heard] = true
	}
	if !got["watch"] || !got["another"] || !got["after"] || !errors.Is(c.Err(), context.Canceled) {
		t.Errorf("heard %v, and then %v", got, c.Err())
	}
	if c.AfterFunc(tell("late"))() || c.Watch(tell("late"))() || <-heard != "late" || <-heard != "late" {
		t.Error("what came late was not heard at once")
	}
	var zero Context
	zero.Init(pairs{})
	zero.Cancel()
	<-zero.Done()
	if len(heard) > 0 {
		t.Errorf("%s was heard, too", <-heard)
	}
}
