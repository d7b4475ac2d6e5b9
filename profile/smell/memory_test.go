package smell

import (
	"testing"

	"whittle/profile"
)

// What Go's collector does on processors that nothing else wants is no pressure: it
// takes time from nobody. The same work of a dedicated worker is.
func TestIdleMarkingIsNoPressure(t *testing.T) {
	const idle, dedicated, own = 0, 1, 2
	p := &profile.Profile{Kind: profile.CPU, Runtime: profile.Go, Functions: []profile.Function{
		{Name: "runtime.gcDrainMarkWorkerIdle", Category: profile.Collecting},
		{Name: "runtime.gcDrainMarkWorkerDedicated", Category: profile.Collecting},
		{Name: "shop.handle", Owner: profile.Own},
	}}
	add := func(function int32, times int) {
		for range times {
			p.Samples = append(p.Samples, profile.Sample{Stack: []profile.Frame{{Function: function}}, Value: 1})
		}
	}
	add(own, 50)
	add(idle, 200)
	if found := collector(p, nil); len(found) > 0 {
		t.Errorf("idle marking was named: %+v", found)
	}
	add(dedicated, 60) // more than half of it, which so few samples do not show
	if found := collector(p, nil); len(found) > 0 {
		t.Errorf("what may be chance was named: %+v", found)
	}
	add(dedicated, 90)
	found := collector(p, nil)
	if len(found) != 1 || found[0].Share != 0.75 {
		t.Errorf("half of the work is the collector's, but %+v was named", found)
	}
}
