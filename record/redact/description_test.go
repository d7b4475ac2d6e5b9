package redact

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"whittle/internal/fatal"
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
	fatal.If(t, err)
	if f := foreign.Describe(); f.Key == d.Key || slices.Equal(f.Patterns, d.Patterns) || strings.Contains(f.String(), f.Key) {
		t.Errorf("under another key: %+v", f)
	}
	if _, ok := ParseDescription([]byte(`{"format":"whittle.redaction/2"}`)); ok {
		t.Error("a form to come was read")
	}
}

func FuzzDescription(f *testing.F) {
	f.Add(mustNew(f, Rules{Fields: []string{"phone"}}).Describe().JSON())
	f.Add([]byte(`{"format":"whittle.redaction/1","fields":["redacted-0123456789ab"],"paths":["$["]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		d, ok := ParseDescription(b)
		if !ok {
			return // no description
		}
		_ = d.String()
		if !d.SameRules(d) {
			t.Errorf("%s is not itself", b)
		}
	})
}
