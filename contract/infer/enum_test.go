package infer

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"whittle/contract"
	"whittle/record/capture"
)

// orders are responses of one endpoint, each about n orders of their own, whose
// word is drawn by f.
func orders(calls, n int, f func(i int) string) []*capture.Entry {
	var log []*capture.Entry
	for c := range calls {
		items := make([]string, n)
		for j := range items {
			i := c*n + j
			items[j] = fmt.Sprintf(`{"id":%d,"cents":%d,%s}`, 1000+i, i%7, f(i))
		}
		log = append(log, entry("GET", fmt.Sprintf("/orders?page=%d", c), "", `{"orders":[`+strings.Join(items, ",")+`]}`))
	}
	return log
}

// cycle draws words in turn.
func cycle(name string, words ...string) func(int) string {
	return func(i int) string { return fmt.Sprintf("%q:%q", name, words[i%len(words)]) }
}

// typeOfOrder is the type of a member of the order in a contract.
func typeOfOrder(t *testing.T, c *contract.Contract, json string) string {
	t.Helper()
	return describe(c, methodOf(t, c, "ListOrders"), "Order", json)
}

func TestWordsAreEnums(t *testing.T) {
	states := []string{"open", "in-transit", "delivered"}
	rare := func(often int) func(int) string {
		return func(i int) string {
			if i%100 == 0 && i/100 < often {
				return `"state":"lost"`
			}
			return cycle("state", states...)(i)
		}
	}
	for _, tc := range []struct {
		name string
		log  []*capture.Entry
		want string // type; beginning with "string ": and the guess's reason
	}{
		{"a set of words", orders(40, 10, cycle("state", states...)), "OrderState"},
		{"a list of them", orders(40, 10, func(i int) string {
			return fmt.Sprintf(`"state":[%q,%q]`, states[i%3], states[i%2])
		}), "repeated OrderState"},
		{"a map of them", orders(40, 10, func(i int) string { return fmt.Sprintf(`"state":{"%d":%q}`, i, states[i%3]) }), "map OrderState"},
		{"at times null", orders(60, 10, func(i int) string {
			return strings.Replace(cycle("state", "open", "closed", "no")(i), `"no"`, "null", 1)
		}), "optional OrderState null"},
		{"a rare word, seen often enough", orders(100, 10, rare(10)), "OrderState"},
		{"a rare word, seen too seldom", orders(100, 10, rare(9)), "string lost was in 9 different objects"},
		{"too few of them", orders(29, 10, cycle("state", states...)), "string they were in 290 different objects"},
		{"the same orders again and again", slices.Repeat(orders(20, 10, cycle("state", states...)), 10), "string they were in 200 different objects"},
		{"the same ones at other times", slices.Concat(orders(20, 10, func(i int) string {
			return fmt.Sprintf(`"at":"2026-01-02T03:04:05.%03dZ",%s`, i, cycle("state", states...)(i))
		}), orders(20, 10, func(i int) string {
			return fmt.Sprintf(`"at":"2026-01-02T03:04:06.%03dZ",%s`, i, cycle("state", states...)(i))
		})), "string they were in 200 different objects"},
		{"the same ones at other milliseconds", slices.Concat(orders(20, 10, func(i int) string {
			return fmt.Sprintf(`"at":%d,%s`, 1_763_776_000_000+i, cycle("state", states...)(i))
		}), orders(20, 10, func(i int) string {
			return fmt.Sprintf(`"at":%d,%s`, 1_763_777_000_000+i, cycle("state", states...)(i))
		})), "string they were in 200 different objects"},
		{"a constant", orders(40, 10, cycle("state", "open")), "string it may be a constant"},
		{"numbered", orders(40, 10, cycle("state", "p1", "p2", "p3")), "string they are numbered"},
		{"ids", orders(40, 10, cycle("state", "a7731", "b9112")), "string one of them looks like an id"},
		{"switches", orders(40, 10, cycle("state", "yes", "no")), "string they are true and false"},
		{"nothing", orders(40, 10, cycle("state", "open", "undefined")), "string one of them stands for nothing"},
		{"names and words", orders(40, 10, cycle("state", "Ann", "open")), "string some of them are names"},
		{"free text", orders(40, 10, cycle("state", "it is open", "it is closed")), "string"},
		{"with the empty text", orders(40, 10, cycle("state", "open", "")), "string"},
		{"not bounded", orders(40, 10, func(i int) string { return fmt.Sprintf(`"state":"w%c%c"`, 'a'+i%7, 'a'+i%5) }), "string"},
		{"times", orders(40, 10, cycle("state", "2026-01-01", "2026-01-02")), "string"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := learn(t, Options{}, tc.log...)
			compiles(t, c)
			want, why, _ := strings.Cut(tc.want, "string ")
			if why != "" {
				want = "string"
			}
			if got := typeOfOrder(t, c, "state"); got != want {
				t.Errorf("got %s, want %s\n%s", got, want, c.Proto())
			}
			if why != "" && !slices.ContainsFunc(c.Methods[0].Guesses, func(g contract.Guess) bool { return strings.Contains(g.Evidence, why) && g.Against == "enum" }) {
				t.Errorf("no guess says %q: %+v", why, c.Methods[0].Guesses)
			}
			kept := learn(t, Options{KeepWords: true}, tc.log...)
			if got := typeOfOrder(t, kept, "state"); strings.Contains(got, "OrderState") || len(kept.Enums) > 0 {
				t.Errorf("asked to keep words it is %s", got)
			}
		})
	}
	for _, name := range []string{"userId", "customer", "userName", "currency_code", "tags", "country"} {
		c := learn(t, Options{}, orders(40, 10, cycle(name, states...))...)
		if got := typeOfOrder(t, c, name); got != "string" {
			t.Errorf("%s is %s", name, got)
		}
	}
}

// TestTheEvidenceOfAnEnum holds what is said of one.
func TestTheEvidenceOfAnEnum(t *testing.T) {
	c := learn(t, Options{}, orders(60, 10, cycle("state", "open", "closed"))...)
	const want = "One of closed, open in 600 cases; in at least 600 different objects, the rarest, closed, in 300; none in only one, so less than 0.5 % of further ones should have another word"
	for _, g := range c.Methods[0].Guesses {
		if g.Path == "response $.orders[*].state" {
			if g.Chosen != "OrderState" || g.Against != "string" || !strings.HasPrefix(g.Evidence, want) {
				t.Errorf("%+v", g)
			}
			return
		}
	}
	t.Errorf("no guess is about it: %+v", c.Methods[0].Guesses)
}

// TestRequestsHaveEnums: members, queries and forms, and one enum for fields of
// one name with the same words.
func TestRequestsHaveEnums(t *testing.T) {
	var log []*capture.Entry
	for i := range 600 {
		speed := []string{"slow", "fast"}[i%2]
		post := entry("POST", fmt.Sprintf("/quotes?sort=%s", []string{"asc", "desc"}[i/2%2]), fmt.Sprintf(`{"ref":%d,"speed":%q}`, i, speed), fmt.Sprintf(`{"at":%d,"speed":%q}`, i, speed))
		form := entry("POST", "/forms", fmt.Sprintf("n=%d&mode=%s", i, []string{"draft", "final"}[i%2]), `{}`)
		form.Request.Header["Content-Type"] = []string{"application/x-www-form-urlencoded"}
		log = append(log, post, form)
	}
	c := learn(t, Options{}, log...)
	compiles(t, c)
	for _, want := range []string{
		"  CreateQuoteSpeed speed = ", "  CreateQuoteSort sort = ", "  CreateFormMode mode = ",
		"enum CreateQuoteSpeed {\n  CREATE_QUOTE_SPEED_UNSPECIFIED = 0;\n  // \"fast\"\n  CREATE_QUOTE_SPEED_FAST = 1;\n  // \"slow\"\n  CREATE_QUOTE_SPEED_SLOW = 2;\n}",
	} {
		if !strings.Contains(string(c.Proto()), want) {
			t.Errorf("there is no %q in\n%s", want, c.Proto())
		}
	}
	if len(c.Enums) != 3 {
		t.Errorf("%d enums, want the speed's to be one", len(c.Enums))
	}
	// A word that was not seen is not taken for another.
	p, err := Check(of(entry("POST", "/quotes?sort=up", `{"ref":1,"speed":"fast"}`, `{"at":1,"speed":"faster"}`)), c)
	if err != nil || p.Kept != 0 || len(p.Broken) != 2 {
		t.Errorf("%+v, %v", p, err)
	}
}

// TestEnumsStay: numbers of words never change, new words come after them, and
// what cannot be an enum any more is a string with a number of its own.
func TestEnumsStay(t *testing.T) {
	first := learn(t, Options{}, orders(40, 10, cycle("state", "open", "closed"))...)
	few := learn(t, Options{Before: first}, orders(1, 2, cycle("state", "open"))...)
	if few.Enum("OrderState").Values[2].Name != "ORDER_STATE_OPEN" || len(few.Enum("OrderState").Values) != 3 {
		t.Errorf("%+v", few.Enums)
	}
	more := learn(t, Options{Before: few}, orders(1, 3, cycle("state", "lost", "open", "at-sea"))...)
	compiles(t, more)
	sameNumbers(t, first, more)
	if got := more.Enum("OrderState").Words(); !slices.Equal(got, []string{"closed", "open", "at-sea", "lost"}) {
		t.Errorf("the words are %q", got)
	}
	if !slices.ContainsFunc(more.Methods[0].Guesses, func(g contract.Guess) bool { return strings.Contains(g.Evidence, "2 new words now: at-sea, lost") }) {
		t.Errorf("%+v", more.Methods[0].Guesses)
	}
	gone := learn(t, Options{Before: more}, entry("GET", "/orders", "", `{"orders":[{"id":1,"cents":1}]}`))
	compiles(t, gone)
	if got := gone.Enum("OrderState").Words(); len(got) != 4 {
		t.Errorf("the words are %q", got)
	}
	odd := learn(t, Options{Before: gone}, orders(1, 2, cycle("state", "open", "in two minds"))...)
	compiles(t, odd)
	sameNumbers(t, gone, odd)
	if got := typeOfOrder(t, odd, "state"); got != "optional string" || len(odd.Enums) != 0 {
		t.Errorf("it is %s\n%s", got, odd.Proto())
	}
	// A string stays one, whatever is seen.
	kept := learn(t, Options{Before: odd}, orders(40, 10, cycle("state", "open", "closed"))...)
	if got := typeOfOrder(t, kept, "state"); got != "optional string" {
		t.Errorf("it is %s", got)
	}
	asked := learn(t, Options{Before: first, KeepWords: true}, orders(40, 10, cycle("state", "open", "closed"))...)
	sameNumbers(t, first, asked)
	if got := typeOfOrder(t, asked, "state"); got != "string" {
		t.Errorf("asked to keep words it is %s", got)
	}
}

// TestManyWordsEndAnEnum: it grows to maxWords and no further.
func TestManyWordsEndAnEnum(t *testing.T) {
	word := func(i int) string { return fmt.Sprintf("w%c%c", 'a'+i%26, 'a'+i/26) }
	c := learn(t, Options{}, orders(40, 10, func(i int) string { return cycle("state", word(i%mostWords))(0) })...)
	for n := mostWords; n <= maxWords; n++ {
		c = learn(t, Options{Before: c}, orders(1, 1, cycle("state", word(n)))...)
		if got, want := typeOfOrder(t, c, "state") == "OrderState", n < maxWords; got != want {
			t.Fatalf("with %d words it is an enum: %v", n+1, got)
		}
	}
}

// TestUnseenWordsAreRare holds the bound: where further objects have another
// word with a probability above 1 %, an enum is made of at most 5 % of logs.
func TestUnseenWordsAreRare(t *testing.T) {
	const logs = 400
	for _, share := range []float64{0.011, 0.02, 0.05} {
		wrong := 0
		for seed := range uint64(logs) {
			r := rand.New(rand.NewPCG(seed, 11))
			x := &texts{}
			b := &bounds{}
			for i := range 300 {
				b.around = uint64(i)
				w := []string{"open", "closed", "lost"}[r.IntN(3)]
				if r.Float64() < share {
					// Of many, none of which comes often.
					w = "rare-" + string(rune('a'+r.IntN(26))) + string(rune('a'+r.IntN(26)))
				}
				x.see(w, b)
			}
			if x.doubt("state") == "" {
				wrong++
			}
		}
		t.Logf("%.1f %% of other words: %d of %d logs", 100*share, wrong, logs)
		if wrong > logs/20 {
			t.Errorf("with %.1f %% of other words %d of %d logs make an enum", 100*share, wrong, logs)
		}
	}
}

// TestMemoryOfObjectsIsBounded: what a place that has no words any more had
// remembered is given back, and beyond the bound nothing is.
func TestMemoryOfObjectsIsBounded(t *testing.T) {
	b := &bounds{}
	for place := range 4_000 {
		x := &texts{}
		for i := range maxWords + 1 {
			b.around++
			x.see(fmt.Sprintf("w%c%c", 'a'+i%26, 'a'+i/26), b)
		}
		if !x.many || x.objects != nil {
			t.Fatalf("place %d remembers %d words", place, len(x.objects))
		}
	}
	if b.objects != 0 {
		t.Errorf("%d objects are still counted", b.objects)
	}
	b.objects = maxObjects
	x := &texts{}
	x.see("open", b)
	if len(x.objects) > 0 || x.n != 1 {
		t.Errorf("%+v", x)
	}
}
