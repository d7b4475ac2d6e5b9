package redact

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"whittle"
)

// TestDescription: what a log says of its redaction holds no secret and tells
// rules and keys apart.
func TestDescription(t *testing.T) {
	rules := Rules{
		Headers: []string{"X-Tenant"}, Fields: []string{"phone", "Date_Of_Birth", "PHONE"}, Paths: []string{"$.user.address", "$.of[\"bob@example.com\"]"},
		Patterns: []string{"hunter2", `customer-(\d+)`}, Keep: []string{"nextPageToken", ShapeOther},
	}
	d := mustNew(t, rules).Describe()
	back, ok := ParseDescription(d.JSON())
	if !ok || fmt.Sprint(back) != fmt.Sprint(d) || !back.SameRules(d) {
		t.Fatalf("%+v came back as %+v", d, back)
	}
	for _, secret := range []string{"hunter2", "bob@", "customer", string(testKey)} {
		if bytes.Contains(d.JSON(), []byte(secret)) {
			t.Errorf("%q is in %s", secret, d.JSON())
		}
	}
	if got := d.String(); got != "the defaults, headers xtenant, fields dateofbirth, phone, paths $.of[\""+tokenFor(mustNew(t, Rules{}), "bob@example.com")+"\"], $.user.address, 2 of patterns; but not nextpagetoken, shape-other" {
		t.Error(got)
	}
	same := rules
	same.Fields = []string{"dateOfBirth", "phone"}
	if !mustNew(t, same).Describe().SameRules(d) {
		t.Error("another spelling is taken for other rules")
	}
	for name, change := range map[string]func(*Rules){
		"field":   func(r *Rules) { r.Fields = nil },
		"path":    func(r *Rules) { r.Paths = r.Paths[:1] },
		"pattern": func(r *Rules) { r.Patterns = []string{"hunter3", `customer-(\d+)`} },
		"keep":    func(r *Rules) { r.Keep = nil },
	} {
		other := rules
		change(&other)
		if mustNew(t, other).Describe().SameRules(d) {
			t.Errorf("another %s is not seen", name)
		}
	}
	foreign, err := New(rules, []byte("some other key, as long"))
	if err != nil {
		t.Fatal(err)
	}
	if f := foreign.Describe(); f.Key == d.Key || slices.Equal(f.Patterns, d.Patterns) || strings.Contains(f.String(), f.Key) {
		t.Errorf("under another key: %+v", f)
	}
	if _, ok := ParseDescription([]byte(`{"format":"whittle.redaction/2"}`)); ok {
		t.Error("a form to come was read")
	}
}

// Too many rules are not named, and are distinguished.
func TestALongDescription(t *testing.T) {
	long := func(n int) (r Rules) {
		for i := range n {
			r.Fields = append(r.Fields, fmt.Sprintf("field%d%s", i, strings.Repeat("x", 60)))
		}
		return r
	}
	one, other := mustNew(t, long(900)).Describe(), mustNew(t, long(901)).Describe()
	back, ok := ParseDescription(one.JSON())
	if !ok || len(one.JSON()) > MaxDescription || !back.Cut || !back.SameRules(one) || back.SameRules(other) {
		t.Errorf("%s", one.JSON())
	}
	if _, complete := mustNew(t, Rules{}).Under(back); complete {
		t.Error("rules that are not listed are taken for known")
	}
}

// TestUnder: rules made of two redact what each of them does.
func TestUnder(t *testing.T) {
	recorded := mustNew(t, Rules{Headers: []string{"X-Tenant"}, Fields: []string{"phone"}, Paths: []string{"$.a"}, Keep: []string{"pin"}})
	now := mustNew(t, Rules{Fields: []string{"city"}, Keep: []string{"pin", "token", ShapeEmail}})
	rules, complete := now.Under(recorded.Describe())
	if !complete {
		t.Error("all of the rules are known")
	}
	both := mustNew(t, rules)
	a := whittle.Response{
		Header: whittle.Header{"Content-Type": {"application/json"}, "X-Tenant": {"t"}},
		Body:   []byte(`{"phone":"1","city":"2","a":"3","pin":"4","token":"5","say":"bob@example.com"}`),
	}
	both.Response(&a)
	want := fmt.Sprintf(`{"phone":"%s","city":"%s","a":"%s","pin":"4","token":"%s","say":"%s"}`,
		tokenFor(both, "1"), tokenFor(both, "2"), tokenFor(both, "3"), tokenFor(both, "5"), tokenFor(both, "bob@example.com"))
	if string(a.Body) != want || a.Header["X-Tenant"][0] != tokenFor(both, "t") {
		t.Errorf("%v\n%s\n%s", a.Header, a.Body, want)
	}
	if _, complete = now.Under(mustNew(t, Rules{Patterns: []string{"x+"}}).Describe()); complete {
		t.Error("a pattern that is not known counts as known")
	}
}

func TestNumberTokens(t *testing.T) {
	r := mustNew(t, Rules{})
	token := string(r.appendNumber(nil, []byte("4111111111111111")))
	for in, want := range map[string]int{
		`{"pin":` + token + `}`: 1, `[` + token + `, ` + token + "\n]": 2, token: 1, `"` + token + `"`: 0, token + ".5": 0,
		"a" + token: 0, "-" + token: 0, token + "1": 0, "8123": 0, "": 0, `{"n":9123456789012345}`: 0,
	} {
		if got := NumberTokens([]byte(in)); len(got) != want {
			t.Errorf("%s: %q", in, got)
		}
	}
}

func FuzzDescription(f *testing.F) {
	f.Add(mustNew(f, Rules{Fields: []string{"phone"}}).Describe().JSON())
	f.Add([]byte(`{"format":"whittle.redaction/1","fields":["redacted-0123456789ab"],"paths":["$["]}`))
	r := mustNew(f, Rules{Keep: []string{"pin"}})
	f.Fuzz(func(t *testing.T, b []byte) {
		d, ok := ParseDescription(b)
		if !ok {
			return // no description
		}
		_ = d.String()
		rules, _ := r.Under(d)
		if _, err := New(rules, testKey); err == nil && !d.SameRules(d) {
			t.Errorf("%s is not itself", b)
		}
	})
}
