package mirror

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestAskingAgainKeepsToItsBudget: of many differences that come at once, no more
// rounds are asked than were saved up and the requests allow.
func TestAskingAgainKeepsToItsBudget(t *testing.T) {
	r := NewRechecks()
	asked := 0
	for n := range int64(10_000) {
		if r.Acquire(n + 1) {
			for range RecheckRounds {
				r.Spend()
				asked++
			}
			r.Release()
		}
	}
	if most := recheckSaved + 10_000*recheckShare; float64(asked) > most || float64(asked) < most/2 {
		t.Errorf("%d rounds for 10,000 requests, at most %.0f are allowed", asked, most)
	}
	for range rechecksAtOnce {
		r.saved = recheckSaved
		r.Acquire(10_000)
	}
	if r.Acquire(10_000) {
		t.Error("more are under way than may be")
	}
}

// TestAPauseEndsWithTheRoute: what waits for its next round does not hold up the end.
func TestAPauseEndsWithTheRoute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRechecks()
		if !r.Acquire(1) {
			t.Fatal("refused")
		}
		go func() {
			defer r.Release()
			if r.Pause(time.Hour) {
				t.Error("it waited for the whole hour")
			}
		}()
		synctest.Wait()
		if err := r.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if r.Acquire(2) {
			t.Error("a closed one gives a permit")
		}
	})
}

// TestOneTime: what a query has that is good for one use is not sent twice; what looks
// like it is.
func TestOneTime(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]bool{
		"code=SplxlOBe&state=xyz":        true,
		"state=xyz&code=SplxlOBe&iss=x":  true,
		"code=EUR":                       false,
		"state=open":                     false,
		"ticket=ST-1856339-aA5Yuvrxz":    true,
		"ticket=4711":                    false,
		"SAMLResponse=PHNhbWw":           true,
		"SAMLRequest=fZJN&RelayState=x":  true,
		"oauth_token=a&oauth_verifier=b": true,
		"access_token=abc":               false,
		"token=abc&page=2":               false,
		"":                               false,
		"&&=&code":                       false,
		"zipcode=1&mystate=2&code2=3":    false,
		"code&state":                     true,
	} {
		if got := OneTime(query); got != want {
			t.Errorf("%q: %v", query, got)
		}
		if got := (&Repeatable{}).OK(query); got == want {
			t.Errorf("%q: may be repeated: %v", query, got)
		}
	}
}
