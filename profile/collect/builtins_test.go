package collect

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"whittle/internal/fatal"
	"whittle/profile"
)

func TestBuiltinsComeFromTheSource(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app.js")
	const source = `app.post('/Count', (req, res) => {
  const word = new RegExp(req.body.word);
  res.end(JSON.stringify(JSON.parse(word)));
  myRegExp(word);
});
`
	fatal.If(t, os.WriteFile(path, []byte(source), 0o600))
	p := &profile.Profile{Kind: profile.CPU, Runtime: profile.Node, Functions: []profile.Function{
		{Name: "(anonymous)", File: path, Line: 1}, {Name: "handle", File: path, Line: 1, Owner: profile.Library},
	}}
	for _, line := range []int32{2, 3, 4, 0, 99} {
		p.Samples = append(p.Samples, profile.Sample{Value: 1, Stack: []profile.Frame{{Function: 0, Line: line}, {Function: 1}}})
	}
	p.Samples = append(p.Samples, profile.Sample{Value: 1, Stack: []profile.Frame{{Function: 1, Line: 2}, {Function: 0}}}, profile.Sample{Value: 1})
	ReadSources(p)
	for i, want := range []string{"RegExp", "JSON.stringify", "handler of POST /Count", "handler of POST /Count", "handler of POST /Count", "handle"} {
		s := p.Samples[i]
		if got := p.Functions[s.Stack[0].Function]; got.Name != want || s.Endpoint != "POST /Count" {
			t.Errorf("sample %d is at %q of %q, want %q", i, got.Name, s.Endpoint, want)
		}
	}
	if f := p.Functions[p.Samples[1].Stack[0].Function]; f.Category != profile.Encoding || f.Owner != profile.System {
		t.Errorf("%+v", f)
	}
}

// Of several registrations on a line the function's is the one that it stands in.
func TestClosuresOnOneLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app.js")
	const line = `app.get('/a', (q, s) => s.end()); app.post('/b', (q, s) => s.end(b())); const b = () => 1;`
	fatal.If(t, os.WriteFile(path, []byte(line+"\n"), 0o600))
	for text, want := range map[string]string{"(q, s) => s.end())": "GET /a", "(q, s) => s.end(b": "POST /b", "": ""} {
		column := 0 // not known
		if text != "" {
			column = strings.Index(line, text) + 1
		}
		p := &profile.Profile{Kind: profile.CPU, Runtime: profile.Node, Functions: []profile.Function{
			{Name: profile.Anonymous, File: path, Line: 1, Column: column},
		}, Samples: []profile.Sample{{Value: 1, Stack: []profile.Frame{{Line: 1}}}}}
		if ReadSources(p); p.Samples[0].Endpoint != want {
			t.Errorf("the function at column %d serves %q, want %q", column, p.Samples[0].Endpoint, want)
		}
	}
}

// A line says which regular expression it matches where there is no doubt.
func TestTheExpressionThatALineMatches(t *testing.T) {
	lines := strings.Split(`const word = /^(\w+\s?)*$/;
let twice = /a/;
twice = other;
const of = { mail: /^[^@/]+@x$/i, name: 'x' };
const made = new RegExp(given);
const each = /[/]+/g,
  next = 1;
for (const rule of rules) {}`, "\n")
	for line, want := range map[string]string{
		"return word.test(req.url);":             `^(\w+\s?)*$`,
		"if (/^(a+)+$/i.test(x)) {":              `^(a+)+$`,
		"s.replace(/a\\/b[/]c/g, '')":            `a\/b[/]c`,
		"text.match(word)":                       `^(\w+\s?)*$`,
		"twice.test(x)":                          "", // which of the two?
		"made.exec(x)":                           "",
		"rule.test(x)":                           "",
		"word.test(a) && word.test(b)":           "", // two calls
		"text.split(',')":                        "",
		"a / b.test(c) / d":                      "",
		"client.search(query)":                   "",
		"x.replace(each, '')":                    `[/]+`,
		"suite.test('it works', function () {})": "",
	} {
		if got := matchedAt(lines, line); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
	if at := matchLine(append(lines, "", "x(word.test(a));"), 9, 10, `^(\w+\s?)*$`); at != 10 {
		t.Errorf("the line is %d", at)
	}
}
