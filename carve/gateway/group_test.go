package gateway

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"whittle"
)

// TestAGroupSharesDrawAndShare: whatever the shares of two routes of a group, each user is on
// one side for both, by the lesser of them; a fall of the one takes the users of the other
// back; and what holds a route up is said.
func TestAGroupSharesDrawAndShare(t *testing.T) {
	m, c := httptest.NewServer(says(200, "monolith")), httptest.NewServer(says(200, "candidate"))
	t.Cleanup(m.Close)
	t.Cleanup(c.Close)
	o := Options{Monolith: upstreamAt(m.URL)}
	for _, name := range []string{"/page", "/assets"} {
		spec := everything()
		candidate := upstreamAt(c.URL)
		spec.Name, spec.Match.Pattern, spec.Mirror.Sample, spec.Group, spec.Candidate = name, name, 0, "shop", &candidate
		spec.Rollout.Sticky = whittle.Sticky{By: "header", Name: "X-User"}
		o.Routes = append(o.Routes, spec)
	}
	ls, urls := facing(t, 1)
	g := behind(t, ls[0], o)
	const users = 200
	for i, at := range []struct {
		page, assets whittle.Share
		least, most  int // users on the candidate
	}{{5000, 5000, 70, 130}, {whittle.All, 1000, 5, 40}, {5000, whittle.All, 70, 130}, {whittle.All, whittle.All, users, users}, {0, whittle.All, 0, 0}} {
		for name, share := range map[string]whittle.Share{"/page": at.page, "/assets": at.assets} {
			if !g.Apply(name, whittle.Position{Generation: uint64(i) + 1, Share: share, Phase: whittle.PhaseShift}) {
				t.Fatal("not in force")
			}
		}
		on := 0
		for user := range users {
			_, page := ask(t, http.MethodGet, urls[0]+"/page", "", "X-User", fmt.Sprint(user))
			_, assets := ask(t, http.MethodGet, urls[0]+"/assets", "", "X-User", fmt.Sprint(user))
			if page != assets {
				t.Fatalf("%+v: user %d has the page of the %s and the assets of the %s", at, user, page, assets)
			}
			if page == "candidate" {
				on++
			}
		}
		if on < at.least || on > at.most {
			t.Errorf("%+v: %d users are on the candidate", at, on)
		}
	}
	said := fmt.Sprint(g.Remarks())
	if !strings.Contains(said, "the least share of the routes of group shop counts for all; it is that of /page now, 0 %") {
		t.Error(said)
	}
}
