package redact

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"whittle"
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
	bob := tokenFor(mustNew(t, Rules{}), "bob@example.com")
	fatal.Same(t, d.String(), "the defaults, headers xtenant, fields dateofbirth, phone, paths $.of[\""+bob+"\"], $.user.address, "+
		"2 of patterns; but not nextpagetoken, shape-other", "the description")
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
	"pin:\n", "pin: a\n", " pin: a\n", "pin: a\n\n\n", "pin:\n ", "pin: |\n  a\n", "pin:\n- a\n", "- ", "- pin: a\n", "pin: 'a\n",
	"pin='\n", "pin='\npin=\"\n", "pin='a''\n", "pin: 'a b\npin: \"a b\n", "pin: ''\n", "pin: 'a'' b\n",
	"pin: `a b\npin: \\'a b\n", "pin: a <\n", "<a>\n pin: a <\n", "\n pin: <", "name: a\n",
	"name: pin\nvalue: a\n", "name:", "\n\n", " ", "=      ", "pin:       ", "-----BEGIN ", "pin=-----BEGIN ", "pin: -----BEGIN \n", "pin:\n\n\n\n",
	"eyJ+", "eyJhIjoi", "eyJ/eyJ=", "--", "--pin ", "--pin a1b2c3d4 ", "--pin 'a ", "--pin --", "pin=>",
	`"pin"=>`, "[pin] => ", `"""`, `pin="""`, "<string name=pin>", "<string name=pin>a</", "<item name=pin", "/pin/a1", "1234567890123456:", "s.", "AAAA",
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

const pem = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow==\nAbCd+/12\n-----END RSA PRIVATE KEY-----"

// TestLines: the value of a secret's name at a line's start is the line, and the
// lines below that belong to it.
func TestLines(t *testing.T) {
	r := mustNew(t, Rules{})
	indented := strings.ReplaceAll(pem, "\n", "\n  ")
	for _, c := range []struct{ name, in, want string }{
		{"several words", "passphrase: correct horse battery staple\nuser: bob", "passphrase: T(correct horse battery staple)\nuser: bob"},
		{"an ampersand", "password: Tr0ub&4dor\r\nuser: bob", "password: T(Tr0ub&4dor)\r\nuser: bob"},
		{"quotes within", "a: b\n  - password: it's \"so\" <1> `x`  \n", "a: b\n  - password: T(it's \"so\" <1> `x`)  \n"},
		{"the last line", "password: a b", "password: T(a b)"},
		{"one word", "password: hunter2\nx: y", "password: T(hunter2)\nx: y"},
		{"a comma after", "{\n  password: hunter2,\n  user: bob\n}", "{\n  password: T(hunter2),\n  user: bob\n}"},
		{"far away", "password:                    hunter2 x\nx: y", "password:                    T(hunter2 x)\nx: y"},
		{"no space", "password:a&b c\nx: y", "password:T(a&b c)\nx: y"},
		{"a scope", "Token::parse(x) y", "Token:T(:parse(x) y)"},
		{"in a comment", "# password: a b\nx: y", "# password: T(a b)\nx: y"},
		{"a byte order mark", "\ufeffpassword: a b", "\ufeffpassword: T(a b)"},
		{"a block", "private_key: |\n  " + indented + "\nuser: bob", "private_key: T(|\n  " + indented + ")\nuser: bob"},
		{"a folded block", "- api_key: !!str >-2 # x\n\n    abc\n\n     def\n\n  user: bob", "- api_key: T(!!str >-2 # x\n\n    abc\n\n     def)\n\n  user: bob"},
		{"a plain scalar on two lines", "passphrase: correct horse\r\n  battery staple\r\nuser: bob", "passphrase: T(correct horse\r\n  battery staple)\r\nuser: bob"},
		{"a list", "tokens:\n  - abc\n  - def\nuser: bob", "tokens:\n  T(- abc\n  - def)\nuser: bob"},
		{"a list as deep", "a:\n  tokens:\n  - abc\n    x\n  - def\n  user: bob", "a:\n  tokens:\n  T(- abc\n    x\n  - def)\n  user: bob"},
		{"a list in a list", "- tokens:\n  - abc\n- user: bob", "- tokens:\n  T(- abc)\n- user: bob"},
		{"a mapping", "credentials:\n    user: bob\n    \"key\": abc\nx: y", "credentials:\n    T(user: bob\n    \"key\": abc)\nx: y"},
		{"quoted keys", "credentials:\n  \"a\": b c\n  d: e\nx: y", "credentials:\n  T(\"a\": b c\n  d: e)\nx: y"},
		{"a list of quoted", "tokens:\n- \"abc\"\n- 'def'\nx: y", "tokens:\nT(- \"abc\"\n- 'def')\nx: y"},
		{"quoted", "password: \"a b\" # now\nuser: \"bob\"", "password: \"T(a b)\" # now\nuser: \"bob\""},
		{"quoted on the next line", "{\n \"password\":\n   \"a b\",\n \"user\": 'bob'\n}", "{\n \"password\":\n   \"T(a b)\",\n \"user\": 'bob'\n}"},
		{"a quote that is none", "password: 'tis so's 1\nx: y", "password: T('tis so's 1)\nx: y"},
		{"a doubled quote", "password: 'it''s so'\nx: y", "password: 'T(it''s so)'\nx: y"},
		{"two quoted", "passphrase: \"a\" \"b\"\nx: y", "passphrase: T(\"a\" \"b\")\nx: y"},
		{"the line below", "Password:\ncorrect horse\n\nBye", "Password:\nT(correct horse)\n\nBye"},
		{"a key below", "private_key:\n" + pem + "\nx: y", "private_key:\nT(" + pem + ")\nx: y"},
		{"a key in a file of variables", "A=b\nPRIVATE_KEY=" + pem + "\nC=d", "A=b\nPRIVATE_KEY=T(" + pem + ")\nC=d"},
		{"a scheme", "access_token: Bearer abc\nx: y", "access_token: Bearer T(abc)\nx: y"},
		{"a word like a scheme", "passphrase: key to success\nx: y", "passphrase: T(key to success)\nx: y"},
		{"a folded header", "Cookie: a=b;\r\n c=d\r\nHost: x", "Cookie: T(a=b;\r\n c=d)\r\nHost: x"},
		{"what tells nothing", "password: null\ntoken: true \nsecret: ~x", "password: null\ntoken: true \nsecret: T(~x)"},
		{"more than a literal", "password: true love\nx: y", "password: T(true love)\nx: y"},
		{"nothing", "a:\n  password:", "a:\n  password:"},
		{"a pair", "env:\n- name: DB_PASSWORD\n  value: a b\n- name: USER\n  value: bob\n", "env:\n- name: DB_PASSWORD\n  value: T(a b)\n- name: USER\n  value: bob\n"},
		{"a quoted pair", "- key: \"api-key\"\n  type: x\n  value: 'a b'\nvalue: c", "- key: \"api-key\"\n  type: x\n  value: 'T(a b)'\nvalue: c"},
		{"a pair in JSON that is none", "[{\n  \"name\": \"password\",\n  \"value\": \"a b\",\n}]", "[{\n  \"name\": \"password\",\n  \"value\": \"T(a b)\",\n}]"},
		{"within a line", "login failed, password: hunter2 from 10.0.0.1\n  at x", "login failed, password: T(hunter2) from 10.0.0.1\n  at x"},
		{"markup", "<pre>\npassword: a b</pre>\n<b>x</b>", "<pre>\npassword: T(a b)</pre>\n<b>x</b>"},
		{"a block in markup", "<pre>\nsecret:\n  a\n  b</pre>\n  <b>x</b>", "<pre>\nsecret:\n  T(a\n  b)</pre>\n  <b>x</b>"},
		{"a name after a name", "PASSWORD=\npassphrase: a b\nx: y", "PASSWORD=\npassphrase: T(a b)\nx: y"},
		{"a name below a name", "    password:\nprivate_key: |\n  a\n  b\nx: y", "    password:\nT(private_key: |\n  a\n  b)\nx: y"},
		{"an apostrophe", "card='\npassphrase: it's so\nx: y", "card='T(\npassphrase: it)'T(s so)\nx: y"},
		{"equals", "password=a b\nx=y", "password=T(a) b\nx=y"},
		{"aligned", "password               =       hunter2\nx = y", "password               =       T(hunter2)\nx = y"},
	} {
		t.Run(c.name, func(t *testing.T) {
			becomes(t, r, "application/yaml", c.in, c.want)
			becomes(t, r, "text/plain", c.in, c.want)
		})
	}
	// A query's value is no text of lines, unless it has some.
	T := func(s string) string { return tokenFor(r, s) }
	for in, want := range map[string]string{
		"/x?q=pin:12+status:open":           "/x?q=pin:" + T("12") + "%20status:open",
		"/x?q=a%0Apassphrase:+b+c%0Ad%3A+e": "/x?q=a%0Apassphrase:%20" + T("b c") + "%0Ad:%20e",
	} {
		q := whittle.Request{Target: in}
		if r.Request(&q); q.Target != want {
			t.Errorf("%s\n got %s\nwant %s", in, q.Target, want)
		}
	}
}
