package redact

import (
	"strings"
	"testing"

	"whittle"
)

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
		// T( … ) may have brackets within.
		want := c.want
		for {
			before, rest, ok := strings.Cut(want, "T(")
			if !ok {
				break
			}
			n := 0
			for depth := 1; ; n++ {
				if rest[n] == '(' {
					depth++
				} else if rest[n] == ')' {
					if depth--; depth == 0 {
						break
					}
				}
			}
			want = before + tokenFor(r, rest[:n]) + rest[n+1:]
		}
		for _, kind := range []string{"application/yaml", "text/plain"} {
			a := whittle.Response{Header: whittle.Header{"Content-Type": {kind}}, Body: []byte(c.in)}
			r.Response(&a)
			if string(a.Body) != want {
				t.Errorf("%s as %s: %q\n got %q\nwant %q", c.name, kind, c.in, a.Body, want)
			}
			again := a
			if r.Response(&again); string(again.Body) != string(a.Body) {
				t.Errorf("%s, redacted twice:\n got %q\nwant %q", c.name, again.Body, a.Body)
			}
		}
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
