package collect

import (
	"maps"
	"slices"
	"time"

	"whittle/profile"
)

// leastAtWork is how many samples tell what code an endpoint ran.
const leastAtWork = 5

// codeSeen is the code of the service's own that an endpoint ran: how many samples had
// each function of it, and each line that was at work itself.
type codeSeen struct {
	samples int
	had     map[profile.Frame]int
}

// often reports whether a fifth of the samples or more had it.
func (c *codeSeen) often(f profile.Frame) bool { return c.had[f] > 0 && 5*c.had[f] >= c.samples }

// codeOf gives the own code that each endpoint ran, by whose turn it was.
func codeOf(p *profile.Profile, turn func(time.Duration) string) map[string]*codeSeen {
	out := map[string]*codeSeen{}
	for i := range p.Samples {
		s := &p.Samples[i]
		if s.Thread != 0 || s.At < 0 {
			continue
		}
		e := ""
		for own := range ownOn(p, s) {
			if e == "" {
				if e = turn(s.At); e == "" {
					break
				}
				if out[e] == nil {
					out[e] = &codeSeen{had: map[profile.Frame]int{}}
				}
				out[e].samples++
			}
			out[e].had[profile.Frame{Function: own}]++
		}
		if leaf := s.Stack[0]; e != "" && leaf.Line > 0 && p.Functions[leaf.Function].Owner == profile.Own {
			out[e].had[leaf]++
		}
	}
	return out
}

// byPath says which endpoints no table has, and which of these may be one.
func (r *router) byPath(p *profile.Profile, m *marks, turn func(time.Duration) string) {
	paths := m.requests(r.endpoint)
	for _, e := range r.endpoints {
		delete(paths, e)
	}
	p.Paths = mayBeOne(paths, codeOf(p, turn))
}

// mayBeOne gives for each of some endpoints those that differ from it in one part of the
// path, where the same code served both as far as that was seen.
func mayBeOne(paths map[string]int64, code map[string]*codeSeen) map[string][]string {
	out := map[string][]string{}
	for e := range paths {
		out[e] = nil
	}
	siblings := siblingsOf(paths)
	for _, form := range slices.Sorted(maps.Keys(siblings)) {
		for _, a := range siblings[form] {
			for _, b := range siblings[form] {
				if a != b && code[a].sameAs(code[b]) && !slices.Contains(out[a], b) {
					out[a] = append(out[a], b)
				}
			}
		}
	}
	return out
}

// sameAs reports whether two endpoints were seen at work, and each ran what the other did
// often.
func (c *codeSeen) sameAs(other *codeSeen) bool {
	return c != nil && other != nil && c.samples >= leastAtWork && other.samples >= leastAtWork && c.within(other) && other.within(c)
}

// siblingsOf gives the paths that differ in one part, by the path with that part open.
func siblingsOf(paths map[string]int64) map[string][]string {
	siblings := map[string][]string{}
	for _, e := range slices.Sorted(maps.Keys(paths)) {
		openParts(e, func(at int, part string) bool {
			if part != "" && part != openPart {
				form := openParts(e, func(place int, _ string) bool { return place == at })
				siblings[form] = append(siblings[form], e)
			}
			return false
		})
	}
	return siblings
}

// within reports whether the other ran all that this ran often.
func (c *codeSeen) within(other *codeSeen) bool {
	for f := range c.had {
		if c.often(f) && other.had[f] == 0 {
			return false
		}
	}
	return true
}
