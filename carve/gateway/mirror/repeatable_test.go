package mirror

import "testing"

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
