package compare

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"whittle"
	"whittle/carve/compare/comparetest"
	"whittle/carve/compare/display"
	"whittle/internal/fatal"
	"whittle/internal/simtest"
)

// aNumber is the number of a response.
var aNumber = regexp.MustCompile(`-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?`)

// says changes the words of a candidate that counts as the monolith does.
func says(body func(r *rand.Rand, i int, number string) string, sides ...func(*whittle.Exchange) *whittle.Response) func(int, *whittle.Exchange) {
	r := rand.New(rand.NewPCG(5, 5))
	return func(i int, x *whittle.Exchange) {
		for _, side := range sides {
			a := side(x)
			a.Body = []byte(body(r, i, aNumber.FindString(string(a.Body))))
		}
	}
}

func theMonolith(x *whittle.Exchange) *whittle.Response  { return &x.Monolith }
func theCandidate(x *whittle.Exchange) *whittle.Response { return &x.Candidate }

// TestOtherWordsAreShown: a candidate whose numbers are right and whose words are
// not is DIFFERENT; one that errs seldom is not EQUIVALENT.
func TestOtherWordsAreShown(t *testing.T) {
	always := says(func(_ *rand.Rand, _ int, n string) string { return "Counted to " + n + "\n" }, theCandidate)
	seldom := says(func(_ *rand.Rand, i int, n string) string {
		if i%50 == 7 {
			return "counted " + n
		}
		return "Counted to " + n + " \n"
	}, theCandidate)

	j := judgeOf(t, countRoute())
	drive(j, 3, 40, comparetest.Flaws{}, always)
	v := j.Verdict()
	list := findingsOf(&v, whittle.FoundBody)
	if v.State != whittle.Different || len(list) != 1 || list[0].DecidedAt > 25 || list[0].Candidate != "Counted to #␊" ||
		list[0].Samples[0].MonolithValue != "Counted to #␠␊" || list[0].Samples[0].CandidateValue != "Counted to #␊" || list[0].Count != 40 {
		t.Errorf("%s: %+v", v.Summary, list)
	}

	j = judgeOf(t, countRoute())
	drive(j, 3, 4000, comparetest.Flaws{}, seldom)
	if v = j.Verdict(); v.State == whittle.Equivalent || len(findingsOf(&v, whittle.FoundBody)) == 0 {
		t.Errorf("words that are wrong in 2 %%: %s", v.Summary)
	}
	if last := v.Bounds[len(v.Bounds)-1].Summary; !strings.Contains(last, "only 0.50 % may be seen to differ (compare.max_differ)") {
		t.Errorf("a bound that more traffic does not help: %s", last)
	}

	c := countRoute()
	c.Expect = []whittle.Expectation{{Kind: whittle.FoundBody, Reason: "the blank at the end is gone"}}
	j = judgeOf(t, c)
	drive(j, 3, 4000, comparetest.Flaws{}, always)
	v = j.Verdict()
	if list = findingsOf(&v, whittle.FoundBody); v.State != whittle.Equivalent || len(list) != 1 || list[0].Expected == "" {
		t.Errorf("a declared difference: %s %+v", v.Summary, list)
	}
}

// TestWordsOfEachRequestAreShown: words that are wrong in one way are DIFFERENT, also where each
// request has others.
func TestWordsOfEachRequestAreShown(t *testing.T) {
	names := []string{"Ann", "Bob", "Cid", "Dora", "Eve", "Finn", "Gus"}
	greets := func(word string, side func(*whittle.Exchange) *whittle.Response) func(int, *whittle.Exchange) {
		return says(func(_ *rand.Rand, i int, n string) string {
			return word + " " + names[i%len(names)] + ", you counted to " + n
		}, side)
	}
	monolith, candidate := greets("Hello", theMonolith), greets("Hi", theCandidate)
	j := judgeOf(t, countRoute())
	drive(j, 3, 100, comparetest.Flaws{}, func(i int, x *whittle.Exchange) { monolith(i, x); candidate(i, x) })
	if v := j.Verdict(); v.State != whittle.Different || len(findingsOf(&v, whittle.FoundBody)) != 1 {
		t.Errorf("%s %+v", v.Summary, v.Findings)
	}
}

// TestWhatIsExplainedIsForgottenOfUsers: users who met a difference that is explained by now do not
// come back with the next one.
func TestWhatIsExplainedIsForgottenOfUsers(t *testing.T) {
	u := newUsers()
	for user := range uint64(3000) {
		u.see(user+1, user < 200)
	}
	if high, _ := u.bound(0.01, false); high < 200./3000 {
		t.Errorf("200 of 3,000 users met a difference, and at most %v can have", high)
	}
	u.bound(0.01, true)
	u.see(1, true)
	if high, _ := u.bound(0.01, false); high > 0.01 {
		t.Errorf("one of 3,000 users met a difference, and %v may have", high)
	}
}

// TestADeclaredFieldHidesNoOther: what is declared of one field excuses neither
// another one next to it nor another value.
func TestADeclaredFieldHidesNoOther(t *testing.T) {
	for _, tc := range []struct {
		expect whittle.Expectation
		body   string
		want   whittle.State
	}{
		{whittle.Expectation{Kind: whittle.FoundField, Path: "$.state"}, `{"n":%s,"state":"OPEN","to":"x"}`, whittle.Equivalent},
		{whittle.Expectation{Kind: whittle.FoundBody, Path: "$.state"}, `{"n":%s,"state":"OPEN","to":"x"}`, whittle.Equivalent},
		{whittle.Expectation{Kind: whittle.FoundField, Path: "$.state", From: "open", To: "OPEN"}, `{"n":%s,"state":"OPEN","to":"x"}`, whittle.Equivalent},
		{whittle.Expectation{Kind: whittle.FoundField, Path: "$.state", From: "open", To: "OPEN"}, `{"n":%s,"state":"shut","to":"x"}`, whittle.Different},
		{whittle.Expectation{Kind: whittle.FoundField, Path: "$.state"}, `{"n":%s,"state":"OPEN"}`, whittle.Different},
		{whittle.Expectation{Kind: whittle.FoundField, Path: "$.a", From: "missing"}, `{"n":%s,"state":"open","to":"y","a":1}`, whittle.Different},
		{whittle.Expectation{Kind: whittle.FoundField, Path: "$.a", From: "missing"}, `{"n":%s,"state":"open","to":"x","a":1}`, whittle.Equivalent},
		{whittle.Expectation{Kind: whittle.FoundBody, Path: "$.to"}, `{"n":%s,"state":"OPEN","to":"x"}`, whittle.Different},
	} {
		c := countRoute()
		c.Value = "json.n"
		c.Expect = []whittle.Expectation{tc.expect}
		j := judgeOf(t, c)
		monolith := says(func(_ *rand.Rand, _ int, n string) string { return `{"n":` + n + `,"state":"open","to":"x"}` }, theMonolith)
		candidate := says(func(_ *rand.Rand, _ int, n string) string { return fmt.Sprintf(tc.body, n) }, theCandidate)
		drive(j, 3, 3000, comparetest.Flaws{}, func(i int, x *whittle.Exchange) { monolith(i, x); candidate(i, x) })
		v := j.Verdict()
		fatal.Same(t, v.State, tc.want, "%+v, %s: %s", tc.expect, tc.body, v.Summary)
		for _, f := range v.Findings {
			if f.Kind != whittle.FoundField || !strings.HasPrefix(f.Path, "$.") {
				t.Errorf("%s: %+v", tc.body, f)
			}
		}
	}
}

// TestARequestWithoutASizeIsLeftOutWhateverCame: chance agreement counts for
// nothing where a difference would not have counted either.
func TestARequestWithoutASizeIsLeftOutWhateverCame(t *testing.T) {
	j := judgeOf(t, countRoute())
	for i := range 100 {
		x := countExchange(i, 1000, 0, float64(i%2))
		x.Request.Body = []byte(`{}`)
		if o := j.Observe(x); o.Skip != whittle.SkipUntranslated {
			t.Fatalf("responses 0 and %d: %+v", i%2, o)
		}
	}
	fatal.Same(t, j.Verdict().Compared, 0, "compared")
}

// wordsAlarm reports whether the verdict is DIFFERENT. It asks for it only where a
// test of the numbers or of the words has passed its level, without which it is not.
func wordsAlarm(j *Judge) bool {
	s := j.mirrored.method.(*random)
	passed := s.Mean.At + s.Spread.At + s.Distribution.At +
		s.Repeats.DecidedAt() + s.Wrong.Bets.At + s.Blank.Bets.At
	for i := range s.Strata {
		passed += s.Strata[i].Wrong.At
	}
	for _, k := range s.around.marks {
		passed += k.decidedAt()
	}
	return passed > 0 && j.Verdict().State == whittle.Different
}

// TestWordsRaiseNoFalseAlarm holds the error rate where the words are random on
// both sides alike: one of two, a rare one, another each time; where several places change
// together, some of them declared in one direction. The hypothesis is
// that both sides draw words by one distribution; at most 1 run in 100 may be called
// DIFFERENT, looked at after each exchange (Ville's inequality): over all worlds
// together, and in each one of them at most 3 in 100. A correct implementation may show
// 0.06 % (simtest.Rate).
func TestWordsRaiseNoFalseAlarm(t *testing.T) {
	t.Parallel()
	type world struct {
		expect []whittle.Expectation
		body   func(r *rand.Rand, n string) string
	}
	oneOf := func(words ...string) func(r *rand.Rand, n string) string {
		return func(r *rand.Rand, n string) string {
			return fmt.Sprintf(`{"v":%s,%s}`, n, words[r.IntN(len(words))])
		}
	}
	state := []whittle.Expectation{{Kind: whittle.FoundField, Path: "$.items[*].s", From: "open", To: "OPEN"}}
	missing := []whittle.Expectation{{Kind: whittle.FoundField, Path: "$.a", From: "missing"}}
	worlds := map[string]world{
		"one of two": {nil, func(r *rand.Rand, n string) string { return n + []string{" Counted", " Summed"}[r.IntN(2)] }},
		"seldom":     {nil, func(r *rand.Rand, n string) string { return n + []string{" Counted", " Summed"}[r.IntN(20)/19] }},
		"ever new":   {nil, func(r *rand.Rand, n string) string { return fmt.Sprintf("%s %x", n, r.Uint64()) }},
		"a list in any order": {nil, func(r *rand.Rand, n string) string {
			list := []string{`"x"`, `"y"`, `"z"`}
			r.Shuffle(3, func(i, k int) { list[i], list[k] = list[k], list[i] })
			return fmt.Sprintf(`{"v":%s,"list":[%s]}`, n, strings.Join(list, ","))
		}},
		"long with one beginning": {nil, func(r *rand.Rand, n string) string {
			return fmt.Sprintf(`{"v":%s,"list":["%s%x"]}`, n, strings.Repeat("eyJhbGciOiJIUzI1NiJ9", 10), r.Uint64())
		}},
		"at one place, one of two": {state, oneOf(`"items":[{"s":"x"},{"s":"open"}]`, `"items":[{"s":"y"},{"s":"OPEN"}]`)},
		"a member more":            {nil, oneOf(`"b":1`, `"a":1,"b":2`)},
		"a member more, declared":  {missing, oneOf(`"b":1`, `"a":1,"b":2`)},
	}
	simtest.InTurn(t, 0.01, 0.0006, 0.03, worlds, func(w world, run int) bool {
		c := countRoute()
		c.Expect = w.expect
		isJSON := w.body(rand.New(rand.NewPCG(1, 1)), "1")[0] == '{'
		if isJSON {
			c.Value = "json.v"
		}
		j := judgeOf(t, c)
		r := rand.New(rand.NewPCG(uint64(run), 9))
		draw := says(func(_ *rand.Rand, _ int, n string) string { return w.body(r, n) }, theMonolith, theCandidate)
		alarmed := false
		drive(j, uint64(run), 250, comparetest.Flaws{}, func(i int, x *whittle.Exchange) {
			alarmed = alarmed || wordsAlarm(j) // before the next one comes
			draw(i, x)
			for _, a := range []*whittle.Response{&x.Monolith, &x.Candidate} {
				if isJSON {
					a.Header = whittle.Header{"Content-Type": {"application/json"}}
				}
			}
		})
		return alarmed || wordsAlarm(j)
	})
}

func TestWhatStandsAroundTheNumber(t *testing.T) {
	text := func(body string) whittle.Response {
		return whittle.Response{Status: 200, Header: whittle.Header{"Content-Type": {"text/html; charset=utf-8"}}, Body: []byte(body)}
	}
	json := func(body string) whittle.Response {
		return whittle.Response{Status: 200, Header: whittle.Header{"Content-Type": {"application/json"}}, Body: []byte(body)}
	}
	for _, tc := range []struct {
		value    string
		ignore   []string
		a, b     whittle.Response
		from, to string // empty: the same
	}{
		{"", nil, text("Counted to 50 \n"), text("Counted to -7.5e3 \n"), "", ""},
		{"", nil, text("Counted to 50 \n"), text("Counted to 51\n"), "$Counted to #␠␊", "$Counted to #␊"},
		{"", nil, text("Counted to 50 \n"), text("Counted 50 \n"), "$Counted to #␠␊", "$Counted #␠␊"},
		{"", nil, text("50 of 100"), text("51 of 100"), "", ""},
		{"", nil, text("50 of 100"), text("50 of 99"), "$# of 100", "$# of 99"},
		{"", nil, json(`{"a": 1, "b": "x"}`), json(`{"b":"x","a":2}`), "", ""},
		{"", nil, json(`{"a":1,"b":"x"}`), json(`{"a":1,"b":"y"}`), `$.b"x"`, `$.b"y"`},
		{"", nil, json(`{"total":"12345","b":"x"}`), json(`{"total":"12346","b":"x"}`), "", ""},
		{"", nil, json(`{"a":1,"b":["x","y"]}`), json(`{"a":1,"b":["y","x"]}`), "$.b2 elements", "$.banother order"},
		{"json.a", nil, json(`{"a":1,"n":5}`), json(`{"a":2,"n":5}`), "", ""},
		{"json.a", nil, json(`{"a":1,"n":5}`), json(`{"a":2,"n":6}`), "$.n5", "$.n6"},
		{`float(json["odd key"].a[0])`, nil, json(`{"odd key":{"a":[1,2]}}`), json(`{"odd key":{"a":[3,2]}}`), "", ""},
		{"json.a", []string{"$.id"}, json(`{"a":1,"id":"x"}`), json(`{"a":2,"id":"y"}`), "", ""},
		{"json.a", nil, json(`{"a":1}`), json(`{"a":2,"error":null}`), "$.errormissing", "$.errornull"},
		{"json.a + json.b", nil, json(`{"a":1,"b":2,"c":"x"}`), json(`{"a":3,"b":4,"c":"x"}`), "", ""},
		{"json.a + json.b", nil, json(`{"a":1,"b":2,"c":"x"}`), json(`{"a":3,"b":4,"c":"y"}`), `$.c"x"`, `$.c"y"`},
		{"len(body)", nil, text("a 1 b 2"), text("a 3 b 4"), "", ""},
		{"len(body)", nil, text("a 1 b 2"), text("a 1 c 2"), "$a # b #", "$a # c #"},
	} {
		c := whittle.Comparison{Kind: whittle.Statistical, Value: tc.value, Ignore: tc.ignore, Confidence: 0.99}
		m, err := newRandom(c, 0.01, &display.View{})
		if err != nil {
			t.Fatalf("%s: %v", tc.value, err)
		}
		m.around.Observe(m.textsOf(&whittle.Exchange{Monolith: tc.a, Candidate: tc.b}))
		var from, to string
		for _, k := range m.around.marks {
			from, to = k.Path+k.Changes[0].From, k.Path+k.Changes[0].To
		}
		if from != tc.from || to != tc.to {
			t.Errorf("%s: %s and %s differ: %s, %s", tc.value, tc.a.Body, tc.b.Body, from, to)
		}
	}
}

// What breaks the assumption, and what whittle then does (docs/concepts.md).

// The first call of a request changes what the second one responds: whoever is
// asked second returns more. The pairs are not exchangeable, so `mean` is found
// though the two services are the same; but where some requests are repeated to
// the monolith, its second responses are shifted likewise, and the finding shows
// nothing any more.
func TestResponsesThatDependOnWhoAskedFirst(t *testing.T) {
	for _, repeats := range []bool{false, true} {
		c := whittle.Comparison{Kind: whittle.Statistical, Confidence: 0.99, MinCompared: 300}
		j := judgeOf(t, c)
		r := rand.New(rand.NewPCG(1, 31))
		call := func(later float64) whittle.Response {
			return counted(1e6 + 40*later + 20*r.NormFloat64())
		}
		for i := range 400 {
			x := countExchange(i, 1, 0, 0)
			x.Monolith, x.Candidate = call(0), call(1)
			if repeats && i%5 == 0 {
				x.Repeat = new(call(1))
			}
			j.Observe(x)
		}
		v := j.Verdict()
		if got := v.State == whittle.Different; got == repeats {
			t.Errorf("with repeats %v: %s", repeats, v.Summary)
		}
		if f := findingsOf(&v, whittle.FoundMean); len(f) != 1 || repeats && f[0].Cause == "" {
			t.Errorf("with repeats %v: findings %+v", repeats, v.Findings)
		}
	}
}
