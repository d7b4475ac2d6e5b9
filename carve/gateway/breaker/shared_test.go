package breaker

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// TestRoutesShareTheExposure: ten routes whose candidate breaks, or hangs, expose as
// many users to it as one would, in the shift and in phase live, and all of them trip.
// A good response of any route makes up for it.
func TestRoutesShareTheExposure(t *testing.T) {
	for _, live := range []bool{false, true} {
		for _, hangs := range []bool{false, true} {
			t.Run(fmt.Sprintf("live %v, hangs %v", live, hangs), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := NewShared()
					s.Bound(50)
					var routes [10]*Breaker
					var trips int
					within := Bounds{consecutive: 1000, exposure: 50, Shared: s}
					for i := range routes {
						routes[i] = New(func(string, uint64) { trips++ })
						routes[i].Set(true, live, 1)
					}
					round := func(how Outcome, end bool) (met int) {
						var under []func()
						for i := range 500 {
							b := routes[i%len(routes)]
							if p, ok := b.Admit(time.Now(), within); ok {
								met++
								under = append(under, func() { b.Done(p, how, time.Now()) })
							}
						}
						for _, done := range under {
							if end {
								done()
							}
						}
						return met
					}
					if met := round(Good, true); met != 50 {
						t.Errorf("%d met the good candidate at once", met)
					}
					if met := round(Bad, !hangs); met != 50 {
						t.Errorf("%d met the broken candidate", met)
					}
					if met := round(Bad, !hangs); met != 0 {
						t.Errorf("%d more met it", met)
					}
					if want := len(routes); !hangs && trips != want {
						t.Errorf("%d of %d routes tripped", trips, want)
					}
					if hangs {
						return // each route's own breaker sees that
					}
					for _, b := range routes {
						b.Set(true, live, 2)
					}
					if met := round(Good, true); met != 50 {
						t.Errorf("after all were closed again %d met it", met)
					}
				})
			})
		}
	}
}
