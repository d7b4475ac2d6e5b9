package gateway

import (
	"fmt"

	"whittle"
)

// group has the routes that share their draw and their share: a user whom one of them sends to
// the candidate is sent there by all. Each route has a rollout of its own, and the least of
// their shares counts for all; so a fall or a trip of one takes the users of all back.
type group []*routeState

// group has the routes of each group know each other. A route that stays over a reload may
// have others from then on.
func (t *table) group() {
	groups := map[string]group{}
	for _, rt := range t.routes {
		if name := rt.spec.Group; name != "" {
			groups[name] = append(groups[name], rt.routeState)
		}
	}
	for _, rt := range t.routes {
		g := groups[rt.spec.Group]
		rt.group.Store(&g)
	}
}

// inForce is the setting that counts for a request: the route's own, with no larger share than
// that of any route of its group.
func (rt *route) inForce() *setting {
	own := rt.setting.Load()
	if least := rt.least(); least != nil {
		if share := least.setting.Load().share; share < own.share {
			lower := *own
			lower.share = share
			return &lower
		}
	}
	return own
}

// least is the route of the group with the least share; nil: the route is in none.
func (rt *route) least() (least *routeState) {
	g := rt.group.Load()
	if g == nil {
		return nil
	}
	for _, s := range *g {
		if least == nil || s.setting.Load().share < least.setting.Load().share {
			least = s
		}
	}
	return least
}

// groupRemarks say that the share of another route counts for this one.
func (rt *route) groupRemarks() []whittle.Remark {
	held := rt.counts.heldByGroup.Load()
	if held == 0 {
		return nil
	}
	text := fmt.Sprintf("the monolith served them, since the least share of the routes of group %s counts for all", rt.spec.Group)
	if least, own := rt.least(), rt.setting.Load().share; least != nil && least.setting.Load().share < own {
		text += fmt.Sprintf("; it is that of %s now, %v %%", least.name, least.setting.Load().share.Percent())
	}
	return []whittle.Remark{{Route: rt.name, Count: held, Text: text}}
}
