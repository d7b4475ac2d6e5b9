package mirror

import "testing"

// TestRepeatable: three second responses in a row that fail where the user's did not end
// the repeats of a route, and so do more than one in five of many; errors that the user
// got as well, and single ones, do not.
func TestRepeatable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		second func(i int) (first, second int)
		ends   int // at which repeat, 0: never
	}{
		{"always taken", func(int) (int, int) { return 200, 404 }, 3},
		{"redirect, then refused", func(int) (int, int) { return 302, 400 }, 3},
		{"fine", func(int) (int, int) { return 200, 200 }, 0},
		{"an error both times", func(int) (int, int) { return 404, 404 }, 0},
		{"better the second time", func(int) (int, int) { return 503, 200 }, 0},
		{"one in ten", func(i int) (int, int) { return 200, map[bool]int{true: 502, false: 200}[i%10 == 0] }, 0},
		{"one in three", func(i int) (int, int) { return 200, map[bool]int{true: 409, false: 200}[i%3 == 0] }, 15},
	} {
		var r Repeatable
		ended := 0
		for i := 1; i <= 3000 && ended == 0; i++ {
			if !r.OK("") {
				t.Fatalf("%s: not repeated after %d, and See has not said so", c.name, i)
			}
			if r.See(c.second(i)) {
				ended = i
			}
		}
		if ended != c.ends || r.OK("") != (c.ends == 0) {
			t.Errorf("%s: ended at %d, want %d", c.name, ended, c.ends)
		}
		if r.See(200, 500) && c.ends > 0 {
			t.Errorf("%s: ended twice", c.name)
		}
		if r.Forget(); !r.OK("") {
			t.Errorf("%s: not forgotten", c.name)
		}
	}
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
