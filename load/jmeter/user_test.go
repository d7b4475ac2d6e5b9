package jmeter

import (
	"time"

	"whittle/load/expr"
)

// onlyUser is a virtual user outside of a run.
type onlyUser struct{ state map[any]any }

func (*onlyUser) Now() time.Time { return time.Unix(1700000000, 0) }
func (*onlyUser) Number() int    { return 0 }
func (*onlyUser) Group() string  { return "G" }
func (*onlyUser) Failed() bool   { return false }

func (*onlyUser) Part() (index, of int64) { return 0, 1 }

func (u *onlyUser) State(_ expr.StateOf, key any, init func() any) any {
	if u.state == nil {
		u.state = map[any]any{}
	}
	if _, ok := u.state[key]; !ok {
		u.state[key] = init()
	}
	return u.state[key]
}
