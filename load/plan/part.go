package plan

import (
	"fmt"
	"slices"
	"strings"
)

// Part is one of several that a plan's users are divided into, as equal as can be: every
// Ofth user is of the same part. The zero value is the whole.
type Part struct {
	// Index is from 0, and below Of.
	Index, Of int
}

// of is how many parts there are.
func (p Part) of() int64 { return max(int64(p.Of), 1) }

// Number is the number in the whole, from 0, of what the part counts as its nth, from 0:
// no two parts give one number twice, and all together leave none out.
func (p Part) Number(n int64) int64 { return int64(p.Index) + p.of()*n }

// Takes reports whether number n of the whole, from 0, is of the part.
func (p Part) Takes(n int64) bool { return n%p.of() == int64(p.Index) }

// Share is how many of n are of the part. The shares of all parts add up to n.
func (p Part) Share(n int64) int64 { return (n + p.of() - 1 - int64(p.Index)) / p.of() }

// Split is part i of n of the part.
func (p Part) Split(i, n int) Part {
	return Part{Index: int(p.Number(int64(i))), Of: int(p.of()) * n}
}

// Arrivals are those of the part, out of all.
func (p Part) Arrivals(next func() (Arrival, bool)) func() (Arrival, bool) {
	others := int64(p.Index) // that come before the part's next
	return func() (Arrival, bool) {
		for range others {
			if _, ok := next(); !ok {
				return Arrival{}, false
			}
		}
		others = p.of() - 1
		return next()
	}
}

// Quota is how many of the loops that all users of a group run together are those of the
// part's users, in proportion to their number. The quotas of all parts add up to the
// group's total.
func (p Part) Quota(g *Group) int64 {
	before := int64(0) // the users of the parts before
	for i := range p.Index {
		before += Part{i, p.Of}.Share(int64(g.Users))
	}
	return portion(g.Total, before+p.Share(int64(g.Users)), int64(g.Users)) - portion(g.Total, before, int64(g.Users))
}

// portion is n·k/of, rounded down; all are at most 1e9.
func portion(n, k, of int64) int64 { return n * k / max(of, 1) }

// Undividable is why the plan cannot be divided into n parts that together do what the
// whole does. Empty: it can.
func (p *Plan) Undividable(n int) string {
	staged := p.Serial && len(p.Groups) > 1 || slices.ContainsFunc(p.Groups, func(g Group) bool { return g.Stage != Main })
	narrow := slices.IndexFunc(p.Phases, func(ph Phase) bool { return ph.MaxUsers > 0 && ph.MaxUsers < n })
	switch {
	case n < 2:
		return ""
	case len(p.Undivided) > 0:
		return "all users of " + strings.Join(p.Undivided, ", of ") + " have to be in one process"
	case staged:
		return "its groups of users wait for each other, which they cannot across processes"
	case len(p.Before) > 0 && p.Scripted:
		return "a function may have set something in the flow before the run, which is then known in one process alone"
	case narrow >= 0:
		return fmt.Sprintf("maxVusers of phase %d is %d, which is fewer than one for each", narrow+1, p.Phases[narrow].MaxUsers)
	case p.HTTP.Pool > 0 && p.HTTP.Pool < n:
		return fmt.Sprintf("its pool of %d connections has fewer than one for each", p.HTTP.Pool)
	}
	return ""
}
