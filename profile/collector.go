package profile

import (
	"maps"
	"slices"
)

// ShareCollector gives the endpoints of a Go service's CPU profile what the garbage
// collector's own goroutines did, by the bytes that each allocated over the same time:
// a cycle comes each time that the heap has grown by so many, whoever grew it. Each
// sample goes whole to the endpoint to which most is due; what was allocated for no
// endpoint leaves its part without one.
func (p *Profile) ShareCollector(allocated *Profile) {
	if p.Kind != CPU || p.Runtime != Go || allocated.Kind != Allocations {
		return
	}
	bytes, total := map[string]int64{}, int64(0)
	for i := range allocated.Samples {
		if v := allocated.Samples[i].Value; v > 0 {
			bytes[allocated.Samples[i].Endpoint] += v
			total += v
		}
	}
	endpoints, due := slices.Sorted(maps.Keys(bytes)), map[string]float64{}
	for i := range p.Samples {
		s := &p.Samples[i]
		if s.Endpoint != "" || total == 0 || !p.collectsAlone(s) {
			continue
		}
		next := endpoints[0]
		for _, e := range endpoints {
			due[e] += float64(s.Value) * float64(bytes[e]) / float64(total)
			if due[e] > due[next] {
				next = e
			}
		}
		s.Endpoint = next
		due[next] -= float64(s.Value)
	}
}

// collectors are the runtime's goroutines that collect.
var collectors = set(`runtime.gcBgMarkWorker runtime.bgsweep runtime.bgscavenge`)

func (p *Profile) collectsAlone(s *Sample) bool {
	return len(s.Stack) > 0 && collectors[p.Functions[s.Stack[len(s.Stack)-1].Function].Name]
}
