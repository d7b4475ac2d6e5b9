package infer

import (
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"testing"

	"whittle"
	"whittle/contract"
	"whittle/contract/infer/verify"
	"whittle/internal/fatal"
	"whittle/record/capture"
)

func TestTextsAreTemplates(t *testing.T) {
	for _, tc := range []struct {
		name  string
		texts []string
		want  string // holes as <name:type>
	}{
		{"a number", []string{"Counted to 500047951 \n", "Counted to 0 \n"}, "Counted to <counted:int64> \n"},
		{"the same each time", []string{"Counted to 5 \n", "Counted to 5 \n"}, "Counted to <counted:int64> \n"},
		{"no number", []string{"OK", "OK"}, "OK"},
		{"leading zeros", []string{"code 007", "code 12"}, "code <code:string>"},
		{"a name of any length", []string{"Hello Ann, you have 3 mails", "Hello Jan de Wit, you have 12 mails"}, "Hello <hello:string>, you have <mails:int64> mails"},
		{"a number alone", []string{"17", "-4"}, "<value:int64>"},
		{"nothing in common", []string{"<p>one two</p>", "quite another", "3"}, "<text:string>"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var log []*capture.Entry
			for _, s := range tc.texts {
				log = append(log, text("GET", "/t", s))
			}
			c := learn(t, Options{}, log...)
			got := ""
			for _, p := range c.Methods[0].HTTP.Response.Parts {
				got += p.Literal
				if f := c.Message(c.Methods[0].Output).Field(p.Field); f != nil {
					got += "<" + f.Name + ":" + string(f.Type) + ">"
				}
			}
			fatal.Same(t, got, tc.want, "")
			if a := c.Methods[0].HTTP.Response; a.ContentType != "text/html; charset=utf-8" {
				t.Errorf("content type %q", a.ContentType)
			}
		})
	}
}

func TestPathsAreEndpoints(t *testing.T) {
	var log []*capture.Entry
	for _, target := range []string{
		"/users/1", "/users/2", "/users/me", "/users/7/orders/ord-0012", "/v2/files/9f8e7d6c5b4a", "/users/", "/a%20b/1",
	} {
		log = append(log, entry("GET", target, "", `{"a":1}`))
	}
	for i := range 20 {
		log = append(log, entry("GET", fmt.Sprintf("/articles/about-%c", 'a'+i), "", `{"title":"x","body":"y"}`))
	}
	log = append(log, entry("POST", "/users/1/activate", "", `{}`), entry("POST", "/users", `{"name":"x"}`, `{"id":1}`))
	routed := entry("GET", "/x/anything", "", `1`)
	routed.Route = "GET /x/{userName}"
	c := learn(t, Options{}, append(log, routed)...)
	got := map[string]string{}
	for _, m := range c.Methods {
		got[m.HTTP.Method+" "+m.HTTP.Pattern] = m.Name
	}
	want := map[string]string{
		"GET /users/{user_id}":                   "GetUser",
		"GET /users/me":                          "GetMe",
		"GET /users/{user_id}/orders/{order_id}": "GetUserOrder",
		"GET /v2/files/{file_id}":                "GetFile",
		"GET /users/{$}":                         "GetUsers",
		"GET /a%20b/{a_b_id}":                    "GetAB",
		"GET /articles/{article}":                "GetArticle",
		"POST /users/{user_id}/activate":         "ActivateUser",
		"POST /users":                            "CreateUser",
		"GET /x/{user_name}":                     "GetX",
	}
	fatal.Same(t, got, want, "")
}

func TestManyWordsAreAWildcard(t *testing.T) {
	hello := func(i int) string { return fmt.Sprintf("Hello ann%d, welcome!\n", i) }
	user := func(i int) string { return fmt.Sprintf(`{"name":"n%d","age":%d}`, i, i) }
	apart := func(pattern string, n int) (all []string) {
		for i := range n {
			all = append(all, fmt.Sprintf("GET "+pattern, i))
		}
		slices.Sort(all)
		return all
	}
	for _, tc := range []struct {
		name string
		n    int
		path string // of the i-th, with a letter or a number
		body func(i int) string
		more []*capture.Entry
		want []string
	}{
		{"texts of one template", 60, "/hello/ann%d", hello, nil, []string{"GET /hello/{hello}"}},
		{"twelve are enough", 12, "/hello/ann%d", hello, nil, []string{"GET /hello/{hello}"}},
		{"objects of one name", 60, "/hello/ann%d", func(i int) string { return fmt.Sprintf(`{"hello":"ann%d"}`, i) }, nil, []string{"GET /hello/{hello}"}},
		{"what recurs is a value too", 20, "/users/ann%d", user, slices.Repeat([]*capture.Entry{entry("GET", "/users/me", "", user(7))}, 30), []string{"GET /users/{user}"}},
		{"failures and optional names go along", 20, "/users/ann%d", user, []*capture.Entry{
			status(entry("GET", "/users/nobody", "", `{"error":"no such user"}`), 404), entry("GET", "/users/bob", "", `{"name":"bob"}`), entry("GET", "/users/version", "", `"1.2"`),
		}, []string{"GET /users/version", "GET /users/{user}"}},
		{"eleven are endpoints", 11, "/hello/ann%d", hello, nil, apart("/hello/ann%d", 11)},
		{"other texts", 20, "/page/x%d", func(i int) string { return strings.Repeat(fmt.Sprintf("%c%c%c ", 'a'+i, 'a'+i, 'b'+i), 5) }, nil, apart("/page/x%d", 20)},
		{"responses that say nothing", 20, "/do/x%d", func(int) string { return "OK" }, nil, apart("/do/x%d", 20)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			log := slices.Clone(tc.more)
			for i := range tc.n {
				x := entry("GET", fmt.Sprintf(tc.path, i), "", tc.body(i))
				if !strings.HasPrefix(tc.body(i), "{") {
					x = text("GET", fmt.Sprintf(tc.path, i), tc.body(i))
				}
				log = append(log, x)
			}
			c := learn(t, Options{}, log...)
			if got := slices.Sorted(slices.Values(c.Endpoints())); !slices.Equal(got, tc.want) {
				t.Fatalf("got  %q\nwant %q", got, tc.want)
			}
			if len(tc.want) > 2 {
				return
			}
			last := c.Methods[len(c.Methods)-1]
			for _, m := range c.Methods {
				if strings.Contains(m.HTTP.Pattern, "{") {
					last = m
				}
			}
			if !slices.ContainsFunc(last.Guesses, func(g contract.Guess) bool { return strings.Contains(g.Evidence, "different words at this place") }) {
				t.Errorf("no guess says why: %+v", last.Guesses)
			}
			if a := last.HTTP.Response; a.Form == contract.Text && len(a.Parts) != 3 {
				t.Errorf("the template is lost: %+v", a.Parts)
			}
		})
	}
}

func TestParameters(t *testing.T) {
	var log []*capture.Entry
	for i := range 30 {
		target := fmt.Sprintf("/s?q=a%d&page=%d&zip=0%d&full=true&filter[name]=x", i, i, i)
		if i%2 == 0 {
			target += "&tag=a&tag=b"
		}
		log = append(log, entry("GET", target, "", `[]`))
	}
	c := learn(t, Options{}, log...)
	got := map[string]string{}
	m := c.Methods[0]
	for _, p := range m.HTTP.Query {
		f := c.Message(m.Input).Field(p.Field)
		got[p.Name] = fmt.Sprintf("%s %s %v %v", f.Name, f.Type, f.Repeated, f.Optional)
	}
	want := map[string]string{
		"q": "q string false false", "page": "page int32 false false", "zip": "zip string false false", "full": "full bool false false",
		"filter[name]": "filter_name string false false", "tag": "tag string true false",
	}
	fatal.Same(t, got, want, "")
	few := learn(t, Options{}, log[:3]...)
	if f := few.Message("ListSRequest").Field("page"); f != nil && !f.Optional {
		t.Error("three requests made a parameter one that cannot be left out")
	}
}

func TestComparisonsAreSuggested(t *testing.T) {
	var random, noisy, shuffled []*capture.Entry
	for i := range 40 {
		n := 1000 * (1 + i%4)
		x := text("POST", "/Count", fmt.Sprintf("Counted to %d \n", n*50+i%7))
		x.Request.Body = fmt.Appendf(nil, `{"times":%d}`, n)
		x.Request.Header["Content-Type"] = []string{"application/json"}
		random = append(random, x)
		noisy = append(noisy, entry("GET", "/users/1", "", fmt.Sprintf(`{"id":1,"at":"2024-01-01T00:00:%02dZ","trace":"9f8e7d6c%02d"}`, i, i)))
		shuffled = append(shuffled, entry("GET", "/tags", "", []string{`{"tags":["a","b"],"n":2}`, `{"tags":["b","a"],"n":2}`}[i%2]))
	}
	for _, tc := range []struct {
		log  []*capture.Entry
		want contract.Compare
	}{
		{random, contract.Compare{Kind: whittle.Statistical, Value: "number in the body", Per: "request.times"}},
		{noisy, contract.Compare{Kind: whittle.JSON, Ignore: []string{"$.at", "$.trace"}}},
		{shuffled, contract.Compare{Kind: whittle.JSON, Unordered: []string{"$.tags"}}},
	} {
		fatal.Same(t, learn(t, Options{}, tc.log...).Methods[0].Compare, tc.want, "")
	}
}

// TestNoComparisonIsSuggestedThatLetsAnythingPass: what differs between repeats
// and does not look made is no reason to leave it out, and a comparison of distributions
// wants everything but its number to stay.
func TestNoComparisonIsSuggestedThatLetsAnythingPass(t *testing.T) {
	sequence := func(target string, bodies ...string) []*capture.Entry {
		var log []*capture.Entry
		for i := range 40 {
			log = append(log, entry("GET", target, "", bodies[i%len(bodies)]))
		}
		return log
	}
	var users, views, counted, first, visits, hits, dice, among []*capture.Entry
	for i := range 40 {
		x := entry("GET", "/me", "", fmt.Sprintf(`{"id":%d,"name":"%c"}`, i%2, 'a'+i%2))
		x.Request.Header = whittle.Header{"Authorization": {fmt.Sprint("Bearer ", i%2)}}
		users = append(users, x)
		views = append(views, entry("GET", "/page", "", fmt.Sprintf(`{"title":"x","views":%d}`, i)))
		counted = append(counted, entry("GET", "/total", "", fmt.Sprintf(`{"total":%d}`, i*7919%1000)))
		first = append(first, text("GET", "/text", fmt.Sprintf("page 1 of %d", i*7919%1000)))
		visits = append(visits, entry("GET", "/visits", "", fmt.Sprintf(`{"visits":%d}`, i)))
		hits = append(hits, text("GET", "/hits", fmt.Sprintf("hit %d", i)))
		dice = append(dice, entry("GET", "/dice", "", fmt.Sprintf(`{"a":%d,"b":%d}`, i*7919%1000, i*7907%1000)))
		among = append(among, entry("GET", "/both", "", fmt.Sprintf(`{"times":5,"total":%d,"at":"2024-01-01T00:00:%02dZ"}`, i*7919%1000, i)))
	}
	for _, tc := range []struct {
		name   string
		log    []*capture.Entry
		varies []string
		want   contract.Compare
	}{
		{"users", users, nil, contract.Compare{}},
		{"a list that grows", sequence("/orders", `[{"id":1}]`, `[{"id":1},{"id":2}]`), []string{"$"}, contract.Compare{}},
		{"a state", sequence("/order", `{"status":"new"}`, `{"status":"paid"}`), []string{"$.status"}, contract.Compare{}},
		{"a text or null", sequence("/order", `{"note":"x"}`, `{"note":null}`), []string{"$.note"}, contract.Compare{}},
		{"an address", sequence("/owner", `{"email":"a@example.com"}`, `{"email":"b@example.com"}`), []string{"$.email"}, contract.Compare{}},
		{"the whole response", sequence("/id", `"9f8e7d6c01"`, `"9f8e7d6c02"`), []string{"$"}, contract.Compare{}},
		{"a counter with a title", views, []string{"$.views"}, contract.Compare{}},
		{"a second number", first, nil, contract.Compare{}},
		{"one change", append(sequence("/one", `{"id":"9f8e7d6c01"}`)[:2], entry("GET", "/one", "", `{"id":"9f8e7d6c02"}`)), nil, contract.Compare{}},
		{"a counter alone", visits, []string{"$.visits"}, contract.Compare{}},
		{"a counter in a text", hits, nil, contract.Compare{Kind: whittle.Statistical, Value: "number in the body"}},
		{"two random numbers", dice, []string{"$.a", "$.b"}, contract.Compare{}},
		{"a number alone", counted, nil, contract.Compare{Kind: whittle.Statistical, Value: "json.total"}},
		{"a number with others", among, nil, contract.Compare{Kind: whittle.Statistical, Value: "json.total", Ignore: []string{"$.at"}}},
	} {
		tc.want.Varies = tc.varies
		fatal.Same(t, learn(t, Options{}, tc.log...).Methods[0].Compare, tc.want, "%s", tc.name)
	}
}

func TestFailuresAreCounted(t *testing.T) {
	log := []*capture.Entry{entry("GET", "/a", "", `{"a":1}`), entry("GET", "/a", "", `{"a":2}`), entry("GET", "/a", "", `{"b":2}`)}
	log = append(log, status(entry("GET", "/a", "", `{"error":"x"}`), 404), status(entry("GET", "/a", "", `{"error":"y"}`), 404))
	broken := entry("GET", "/a", "", "")
	broken.Response = whittle.Response{Failure: whittle.FailedTimeout}
	m := learn(t, Options{}, append(log, broken)...).Methods[0]
	if len(m.Failures) != 1 || m.Failures[0].Status != 404 || m.Failures[0].Count != 2 || string(m.Failures[0].Example.Body) != `{"error":"x"}` {
		t.Errorf("%+v", m.Failures)
	}
	fatal.Same(t, m.Seen, 3, "times seen")
}

func TestASecondRunKeepsItsPromises(t *testing.T) {
	before := learn(t, Options{}, entry("GET", "/a", "", `{"n":1,"d":1,"s":"x","gone":[1],"o":{"p":1,"q":2}}`))
	after := learn(t, Options{Before: before},
		entry("GET", "/a", "", `{"n":5000000000,"d":1.5,"s":1,"o":{"p":1,"q":2,"r":3},"fresh":true}`), entry("GET", "/b", "", `1`))
	sameNumbers(t, before, after)
	compiles(t, after)
	message := after.Message("GetAResponse")
	got := map[string]string{}
	for _, f := range message.Fields {
		got[f.JSON] = fmt.Sprint(f.Number, " ", f.Type)
	}
	want := map[string]string{
		"n": "1 int64", "d": "6 double", "s": "7 google.protobuf.Value", "gone": "4 int32", "o": "5 message", "fresh": "8 bool",
	}
	if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(message.Reserved, []int32{2, 3}) {
		t.Errorf("got  %v %v\nwant %v", got, message.Reserved, want)
	}
	if u := after.Methods[0].HTTP.Response.Unset; !reflect.DeepEqual(u.Omits, []string{"$.gone"}) {
		t.Errorf("%+v", u)
	}
	// What is not seen any more stays, with all that it refers to.
	last := learn(t, Options{Before: after}, entry("GET", "/c", "", `1`))
	if len(last.Methods) != 3 || last.Message("O") == nil {
		t.Errorf("%s", last.Proto())
	}
}

func TestCheckFindsWhatDoesNotHold(t *testing.T) {
	c := learn(t, Options{}, entry("GET", "/a/1?p=1", "", `{"n":1}`))
	for _, tc := range []struct {
		x    *capture.Entry
		want string
	}{
		{entry("GET", "/a/1?p=1", "", `{"n":1.5}`), "response proto:"},
		{entry("GET", "/a/1?p=1", "", `{}`), "response $.n"},
		{entry("GET", "/a/1?p=1", "", `{"n":1,"m":2}`), "response proto:"},
		{entry("GET", "/a/1?p=x", "", `{"n":1}`), "request query parameter"},
		{entry("GET", "/a/x?p=1", "", `{"n":1}`), "request path"},
		{entry("GET", "/a/1?p=1", "", ``), "it is empty"},
	} {
		p, err := verify.Check(of(tc.x), c)
		if err != nil || p.Kept != 0 || len(p.Broken) != 1 || !strings.Contains(p.Broken[0].Path+" "+p.Broken[0].Why, tc.want) {
			t.Errorf("%+v %v, want %s", p, err, tc.want)
		}
	}
}

// TestLearnGivesUpWhatDoesNotHold: a template whose hole holds the literal that
// follows it cannot be taken apart again, so it is one text.
func TestLearnGivesUpWhatDoesNotHold(t *testing.T) {
	log := []*capture.Entry{
		text("GET", "/t", "name Ann and age 5 today"), text("GET", "/t", "name Bob and age 6 today"), text("GET", "/t", "name x and age y and age 7 today"),
	}
	c, p, err := Learn(func() iter.Seq2[*capture.Entry, error] { return of(log...) }, Options{})
	if err != nil || p.Kept != 3 {
		t.Fatalf("%+v %v\n%+v", p, err, c.Methods[0].HTTP.Response)
	}
}

func TestNothingToInfer(t *testing.T) {
	image := entry("GET", "/logo", "", "x")
	image.Response.Header["Content-Type"] = []string{"image/png"}
	for _, tc := range []struct {
		log  []*capture.Entry
		o    Options
		want string
	}{
		{nil, Options{}, "record some"},
		{nil, Options{Route: "GET /x"}, "GET /x"},
		{[]*capture.Entry{image}, Options{}, "a file"},
		{[]*capture.Entry{status(entry("GET", "/a", "", ""), 500)}, Options{}, "no response was a success"},
	} {
		_, err := Infer(of(tc.log...), tc.o)
		e, ok := errors.AsType[*whittle.Error](err)
		if !ok || e.Code != whittle.NotFound || !strings.Contains(e.Hint, tc.want) {
			t.Errorf("got %v %+v, want %s", err, e, tc.want)
		}
	}
	torn := errors.New("torn")
	if _, err := Infer(func(yield func(*capture.Entry, error) bool) { yield(nil, torn) }, Options{}); !errors.Is(err, torn) {
		t.Errorf("%v", err)
	}
}
