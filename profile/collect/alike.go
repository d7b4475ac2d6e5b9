package collect

import (
	"maps"
	"slices"
	"time"

	"whittle/profile"
)

// What says that paths which differ in one part are one endpoint with a key in it: so
// many paths, of which so many were each seen at work so often.
const (
	fewAlike    = FewKeys
	fewSeen     = 3
	leastAtWork = 5
)

// codeSeen is the code of the service's own that an endpoint ran: how many samples had
// each function of it, and each line that was at work itself.
type codeSeen struct {
	samples int
	had     map[profile.Frame]int
}

func (c *codeSeen) add(of *codeSeen) {
	c.samples += of.samples
	for f, n := range of.had {
		c.had[f] += n
	}
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

// joinAlike takes endpoints that no table has for one, as "GET /users/{id}", where they
// differ in one part of the path and the same code served them. Which were joined the
// profile says.
func (r *router) joinAlike(p *profile.Profile, m *marks, turn func(time.Duration) string) {
	paths := m.requests(r.endpoint)
	for _, e := range r.endpoints {
		delete(paths, e)
	}
	code, came := codeOf(p, turn), slices.Sorted(maps.Keys(paths))
	defer func() { p.Paths = mayBeOne(paths, code) }()
	r.joint = map[string]string{}
	for open, alike := joined(paths, code); open != ""; open, alike = joined(paths, code) {
		one := &codeSeen{had: map[profile.Frame]int{}}
		for _, e := range alike {
			if code[e] != nil {
				one.add(code[e])
			}
			for _, name := range came {
				if name == e || r.joint[name] == e {
					r.joint[name] = open
				}
			}
			delete(paths, e)
			delete(code, e)
		}
		paths[open], code[open] = 0, one
	}
	for _, name := range came {
		if open := r.joint[name]; open != "" {
			if p.Joined == nil {
				p.Joined = map[string][]string{}
			}
			p.Joined[open] = append(p.Joined[open], name)
		}
	}
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

// joined finds some paths that are one endpoint, and its name. "": there are none left.
func joined(paths map[string]int64, code map[string]*codeSeen) (open string, alike []string) {
	siblings := siblingsOf(paths)
	for _, form := range slices.Sorted(maps.Keys(siblings)) {
		if alike := sameCode(siblings[form], code); len(alike) >= fewAlike {
			return form, alike
		}
	}
	return "", nil
}

// sameCode gives those of some endpoints that the same code served.
func sameCode(siblings []string, code map[string]*codeSeen) (alike []string) {
	if len(siblings) < fewAlike {
		return nil
	}
	for _, e := range siblings {
		if c := code[e]; c != nil && c.samples >= leastAtWork {
			if alike = c.servesToo(siblings, code); len(alike) >= fewAlike {
				return alike
			}
		}
	}
	return nil
}

// servesToo gives those of some endpoints that this code serves: what it ran often they
// ran, and it ran what they ran often, and some of that no other endpoint ran often; where
// no other was seen at work, lines of the service's own that were at work themselves, since
// what calls nothing but others' code may be a dispatch. One that was seldom seen is among
// them unless it often ran what this did not.
func (c *codeSeen) servesToo(siblings []string, code map[string]*codeSeen) (alike []string) {
	sure := 0
	for _, e := range siblings {
		of := code[e]
		if of != nil && (!of.within(c) || of.samples >= leastAtWork && !c.within(of)) {
			continue
		}
		alike = append(alike, e)
		if of != nil && of.samples >= leastAtWork {
			sure++
		}
	}
	theirs, others := maps.Clone(c.had), 0
	for e, of := range code {
		if !slices.Contains(alike, e) {
			others++
			maps.DeleteFunc(theirs, func(f profile.Frame, _ int) bool { return of.often(f) })
		}
	}
	maps.DeleteFunc(theirs, func(f profile.Frame, _ int) bool { return !c.often(f) || others == 0 && f.Line == 0 })
	if sure < fewSeen || len(theirs) == 0 {
		return nil
	}
	return alike
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
