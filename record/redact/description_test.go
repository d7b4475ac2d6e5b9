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

// mostLooked is how many bytes are read ahead or back for one byte of a text at
// most. Each kind of looking has a bound of its own: a name is one of 128 bytes
// back, a login 512 ahead, "Basic …" 1 KiB, a tag reads each byte three times.
const mostLooked = 700

// hostile are texts that, repeated, make a scan read ahead in vain.
var hostile = []string{
	"<a ", `<a "`, `<a "<b '`, `"<a '"'`, "<a\tid=", "<a id=x ", "<a b", `<a "><b '>`, "<input name=csrf ", "<password ", `<password "`,
	"<password password=", "</a", "<password>", "<a><password/>", "<token></token>",
	"%3D", "%22%3D", "a%3D", "a.b.c%3A", `"=`, `a"=`, "a.b.", "=", ":", "a:", `\"a\":`, `\u003d`, "&#64;", "a@", "%40", "a@b.", "://", "://a:", "a://b", "eyJ", "eyJ.", "eyJa.b ",
	"basic+", "basic YTpi ", "basic a ", "bearer ", "Bearer+", "4111-", "41 ", "411111111111 ", "5%20", "password=", "password=a,", `password="`, `password='\`, `password="a\"`,
	"password={", "password=[1,", `{"value":`, `{"value":1,"x":`, `[{"value":1,"n":{"value":[`, `"{\"`, `{"a":"`, "cookie:", "cookie: a\n", "a;b=", "/a@b.cd",
	"pin:\n", "pin: a\n", " pin: a\n", "pin: a\n\n\n", "pin:\n ", "pin: |\n  a\n", "pin:\n- a\n", "- ", "- pin: a\n", "pin: 'a\n", "pin='\n", "pin='\npin=\"\n", "pin='a''\n", "pin: 'a b\npin: \"a b\n", "pin: ''\n", "pin: 'a'' b\n",
	"pin: `a b\npin: \\'a b\n", "pin: a <\n", "<a>\n pin: a <\n", "\n pin: <", "name: a\n", "name: pin\nvalue: a\n", "name:", "\n\n", " ", "=      ", "pin:       ", "-----BEGIN ", "pin=-----BEGIN ", "pin: -----BEGIN \n", "pin:\n\n\n\n",
	"eyJ+", "eyJhIjoi", "eyJ/eyJ=", "--", "--pin ", "--pin a1b2c3d4 ", "--pin 'a ", "--pin --", "pin=>", `"pin"=>`, "[pin] => ", `"""`, `pin="""`, "<string name=pin>", "<string name=pin>a</", "<item name=pin", "/pin/a1", "1234567890123456:", "s.", "AAAA",
	`{"apiVersion":1,"data":`, `{"apiVersion":1,"data":[1],`, "data: a\n", "a:10:b:c:d\n", "a:10:", "a:10:b:c:", "a@//", "a:b@tcp(", "ewo", `["pin","a`, "[[", `[["pin",`, "YC", "FwoGZXIvYXdz",
}

// Twice the text may take twice the reading: what a client or a service sends
// must not hold up the recording of others.
func TestHostileTextsAreReadInLinearTime(t *testing.T) {
	r := mustNew(t, Rules{})
	for _, unit := range hostile {
		for _, last := range []string{"", ">", `"'>`, "=x", ".", " "} {
			for _, size := range []int{1 << 10, 1 << 12, 1 << 15} {
				repeated := strings.Repeat(unit, size/len(unit)) + last
				bodies := []string{repeated}
				if last == "" {
					bodies = append(bodies, "<a>\n"+repeated) // read as markup
				}
				for _, body := range bodies {
					w := work{r: r}
					w.inner([]byte(body), 0)
					if most := mostLooked * len(body); w.looked > most {
						t.Errorf("%d bytes of %q and %q: %d were read in addition, %d for each", len(body), unit, last, w.looked, w.looked/len(body))
					}
				}
			}
		}
	}
}

// FuzzLooking: no text has more read for it than its length allows.
func FuzzLooking(f *testing.F) {
	for _, unit := range hostile {
		f.Add([]byte(unit), []byte(""), uint16(200))
		f.Add([]byte(`<a "`), []byte(unit), uint16(20))
	}
	r := mustNew(f, Rules{})
	f.Fuzz(func(t *testing.T, unit, last []byte, n uint16) {
		body := append([]byte(strings.Repeat(string(unit), int(n)%500)), last...)
		w := work{r: r}
		w.inner(body, 0)
		if most := mostLooked * len(body); w.looked > most {
			t.Errorf("%d bytes of %q and %q: %d were read in addition", len(body), unit, last, w.looked)
		}
	})
}
