package collect

import (
	"io"
	"maps"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"whittle"
	"whittle/internal/fatal"
	"whittle/profile"
)

func TestCalls(t *testing.T) {
	file := filepath.Join(t.TempDir(), "app.js")
	for text, want := range map[string]bool{
		"sum += Math.round(Math.random() * 100);":  false,
		"for (let i = 0; i < times; i++) sum += i": false,
		"i++ // as draw(i) does":                   true,
		"const b = JSON.parse(body)":               false,
		"while (x[i] < y) { i++ }":                 false,
		"sum += a * b":                             false,
		"return draw(times)":                       true,
		"res.end('Counted to ' + draw(300000))":    true,
		"all.push({ i })":                          true,
		"handlers[i](req)":                         true,
		"make()(req)":                              true,
		"mathMath.round(x)":                        true,
		"if (ready (x)) y = 1":                     true,
		"x = f\t(1)":                               true,
	} {
		fatal.Write(t, file, "'use strict'\n"+text+"\n")
		f := &profile.Function{File: file, Line: 1, Owner: profile.Own}
		fatal.Same(t, newRoutes().calls(f, 2), want, "%s", text)
		if r := newRoutes(); !r.calls(f, 0) || !r.calls(f, 9) || !r.calls(&profile.Function{File: "app.js"}, 2) {
			t.Error("a line that cannot be read may call")
		}
	}
}

// A line outside of its function is that of one that V8 has inlined, whatever it holds: so
// handlers keep the name of the function that they call, and V8 is asked for it.
func TestALineOfAnotherFunctionIsCalled(t *testing.T) {
	file := filepath.Join(t.TempDir(), "app.js")
	text := "function cart(n) {\n  let sum = 0;\n  for (let i = 0; i < n; i++) sum += i;\n  return sum;\n}\nserve(req => {\n  const n = 1;\n});\nlet last = 1;\n"
	fatal.Write(t, file, text)
	handler := &profile.Function{File: file, Line: 6, Column: 7, Owner: profile.Own}
	for line, want := range map[int32]bool{3: true, 7: false, 9: true} {
		fatal.Same(t, newRoutes().calls(handler, line), want, "line %d", line)
	}
}

// Node's own functions are called by other names than V8 shows.
func TestCallsOfNodesOwnFunctions(t *testing.T) {
	lines := []string{
		"function handle(req, res) {",
		"  const packed = zlib.brotliCompressSync(text);",
		"  console.warn('packed', packed.length);",
		"  https.get(upstream, (response) => response.pipe(res));",
		"  return crypto.publicEncrypt(key, packed);",
		"}",
	}
	f := &profile.Function{Name: "handle", File: "/srv/app.js", Line: 1, Ends: 6}
	for want, callee := range map[int]profile.Function{
		2: {Name: "syncBufferWrapper", File: "node:zlib"},
		3: {Name: "consoleCall"},
		4: {Name: "request", File: "node:https"},
		5: {Name: profile.Anonymous, File: "node:internal/crypto/cipher"},
		0: {Name: profile.Anonymous, File: "node:internal/util"},
	} {
		fatal.Same(t, callLine(f, &callee, lines), want, "%s of %s: line", callee.Name, callee.File)
	}
}

func TestBuiltinsComeFromTheSource(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app.js")
	const source = `app.post('/Count', (req, res) => {
  const word = new RegExp(req.body.word);
  res.end(JSON.stringify(JSON.parse(word)));
  myRegExp(word);
});
`
	fatal.Write(t, path, source)
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
	fatal.Write(t, path, line+"\n")
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
		fatal.Same(t, matchedAt(lines, line), want, "%s", line)
	}
	fatal.Same(t, matchLine(append(lines, "", "x(word.test(a));"), 9, 10, `^(\w+\s?)*$`), 10, "the line")
}

func TestRequests(t *testing.T) {
	for name, c := range map[string]struct {
		page string
		want map[string]int64
		code whittle.Code

		classes map[string]int64
	}{
		"by route": {page: `
# TYPE http_requests_total counter
http_requests_total{route="/a",method="get",code="200"} 7
http_requests_total{route="/a",method="get",code="500"} 1
http_requests_total{route="/b",method="post",code="200"} 5
# TYPE promhttp_metric_handler_requests_total counter
promhttp_metric_handler_requests_total{code="200"} 99
`, want: map[string]int64{"GET /a": 8, "POST /b": 5}, classes: map[string]int64{"2xx": 12, "5xx": 1}},
		"a histogram": {page: `
# TYPE http_request_duration_seconds histogram
http_request_duration_seconds_bucket{handler="GET /a",le="+Inf"} 4
http_request_duration_seconds_sum{handler="GET /a"} 1
http_request_duration_seconds_count{handler="GET /a"} 4
`, want: map[string]int64{"GET /a": 4}},
		"not distinguished": {page: "# TYPE count_calls_total counter\ncount_calls_total{protocol=\"twirp\"} 3\n", want: map[string]int64{"": 3}},
		"none":              {page: "# TYPE up gauge\nup 1\n", code: whittle.NotFound},
		"no metrics":        {page: "<html>", code: whittle.Invalid},
		"too large":         {page: strings.Repeat("# a comment\n", maxMetrics/12+1), code: whittle.Unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			url := serves(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, c.page) })
			got, err := Requests(t.Context(), MetricsOf(url+"/debug/pprof"))
			if c.want != nil && (err != nil || !maps.Equal(got.Endpoints, c.want) || !maps.Equal(got.Classes, c.classes)) {
				t.Errorf("%v, %v; want %v", got, err, c.want)
			}
			if c.want == nil && whittle.CodeOf(err) != c.code {
				t.Errorf("error %v, want %s", err, c.code)
			}
		})
	}
}
