package jmeter

import (
	"whittle"
	"whittle/load/plan"
)

// openFile reads a file that the plan names.
func (j *reader) openFile(at plan.Position, name string) []byte {
	if j.Source.Open == nil {
		panic(at.Errorf(whittle.NotFound, "%s cannot be opened: the plan is not a file", name))
	}
	src, err := j.Source.Open(name)
	if err != nil {
		panic(at.Errorf(whittle.CodeOf(err), "%v", err))
	}
	return src
}
