package redact

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"math/rand/v2"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"whittle"
	"whittle/internal/fatal"
)

// linesOf reads a file of the corpus: a line each, without comments.
func linesOf(t *testing.T, name string) (all []string) {
	t.Helper()
	b := fatal.Read(t, "testdata/"+name)
	for line := range strings.Lines(b) {
		if line = strings.TrimRight(line, "\n"); line != "" && line[0] != '#' {
			all = append(all, line)
		}
	}
	return all
}

var part = regexp.MustCompile(`\{([AhuBUd])(\d+)\}`)

// made gives a secret of a form, by chance, and what of it must be gone: its
// random parts.
func made(form string, chance *rand.Rand) (secret string, gone []string) {
	const small, capital, digit = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"
	alphabets := map[string]string{
		"A": small + capital + digit, "h": digit + "abcdef", "u": small + capital + digit + "-_",
		"B": capital + "234567", "U": capital + digit, "d": digit,
	}
	secret = part.ReplaceAllStringFunc(strings.ReplaceAll(form, `\n`, "\n"), func(s string) string {
		m := part.FindStringSubmatch(s)
		n, _ := strconv.Atoi(m[2])
		b := make([]byte, n)
		for i := range b {
			b[i] = alphabets[m[1]][chance.IntN(len(alphabets[m[1]]))]
			if (i == 0 || i == n-1) && (b[i] == '-' || b[i] == '_') {
				b[i] = '7'
			}
		}
		gone = append(gone, string(b))
		return string(b)
	})
	if gone == nil {
		gone = []string{secret}
	}
	return secret, gone
}

// held is an exchange with a secret in one place.
type held struct {
	place    string
	request  whittle.Request
	response whittle.Response
}

// placesOf puts a text into each place of an exchange that can hold it.
func placesOf(s string) []held {
	quoted, _ := json.Marshal(s)
	twice, _ := json.Marshal(`{"raw":` + string(quoted) + `}`)
	var escaped strings.Builder
	_ = xml.EscapeText(&escaped, []byte(s))
	line := strings.ReplaceAll(s, "\n", `\n`)
	body := func(place, kind, text string) held {
		return held{
			place:    place,
			request:  whittle.Request{Method: "POST", Target: "/", Header: whittle.Header{"Content-Type": {kind}}, Body: []byte(text)},
			response: whittle.Response{Status: 200, Header: whittle.Header{"Content-Type": {kind}}, Body: []byte(text)},
		}
	}
	target := func(place, text string) held {
		return held{place: place, request: whittle.Request{Method: "GET", Target: text}, response: whittle.Response{Header: whittle.Header{"Location": {"https://example.com" + text}}}}
	}
	all := []held{
		body("a JSON value", "application/json", `{"items":[{"note":`+string(quoted)+`}]}`),
		body("a JSON key", "application/json", `{"by":{`+string(quoted)+`:1}}`),
		body("a sentence in JSON", "application/json", `{"note":"see `+string(quoted[1:len(quoted)-1])+` now"}`),
		body("JSON in JSON", "application/json", `{"raw":`+string(twice)+`}`),
		body("a form", "application/x-www-form-urlencoded", "a=b&note="+url.QueryEscape(s)+"&c=d"),
		body("a text", "text/plain", "note "+s+" end\nmore\n"),
		body("a log line", "text/plain", `2026-11-21T10:11:12Z INFO note="`+line+`" took=12ms`),
		body("XML", "application/xml", "<a><note>"+escaped.String()+"</note></a>"),
		body("an HTML attribute", "text/html", `<p data-note="`+escaped.String()+`">x</p>`),
		body("a script", "text/html", `<script>var note = `+string(quoted)+`;</script>`),
		body("a part of several", "multipart/form-data; boundary=XX", "--XX\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\n"+s+"\r\n--XX--\r\n"),
		target("a query", "/find?note="+url.QueryEscape(s)+"&page=2"),
		target("a query's name", "/find?"+url.QueryEscape(s)+"=1"),
		target("a path", "/notes/"+url.PathEscape(s)+"/edit"),
		{
			place: "a cookie", request: whittle.Request{Header: whittle.Header{"Cookie": {"a=b; note=" + line}}},
			response: whittle.Response{Header: whittle.Header{"Set-Cookie": {"note=" + line + "; Path=/"}}},
		},
		{
			place: "a header", request: whittle.Request{Header: whittle.Header{"X-Note": {line}}},
			response: whittle.Response{Header: whittle.Header{"X-Note": {"see " + line}}, Trailer: whittle.Header{"X-Note": {line}}},
		},
		{place: "a failure's detail", response: whittle.Response{Failure: whittle.FailedReset, Detail: "read: " + line}},
	}
	if !strings.ContainsAny(s, "?#%\n\" ") {
		all = append(all, target("a path as it is", "/notes/"+s+"/edit"))
	}
	return all
}

// leftOf redacts an exchange and gives all of its text.
func leftOf(r *Redactor, h held) string {
	r.Request(&h.request)
	r.Response(&h.response)
	return fmt.Sprint(h.request.Target, h.request.Header, string(h.request.Body), h.response.Header, h.response.Trailer, string(h.response.Body), h.response.Detail)
}

// TestNoSecretOfTheCorpusIsLeft puts three secrets of each form of the corpus
// into every place of an exchange. None is left, not even its random part.
func TestNoSecretOfTheCorpusIsLeft(t *testing.T) {
	r, chance := mustNew(t, Rules{}), rand.New(rand.NewPCG(1, 2))
	secrets, cases := 0, 0
	for _, line := range slices.Concat(linesOf(t, "secrets.txt"), linesOf(t, "secrets_second.txt"), linesOf(t, "secrets_third.txt"), linesOf(t, "secrets_fourth.txt")) {
		name, form, ok := strings.Cut(line, "\t")
		if !ok {
			t.Fatalf("%q: a name, a tab and a form", line)
		}
		for range 3 {
			s, gone := made(form, chance)
			secrets++
			for _, h := range placesOf(s) {
				cases++
				left := leftOf(r, h)
				for _, g := range gone {
					if len(g) >= 4 && strings.Contains(left, g) {
						t.Errorf("%s in %s: %s is left in %s", name, h.place, g, left)
					}
				}
			}
		}
	}
	if secrets < 300 {
		t.Errorf("the corpus has %d secrets, at least 300 are needed", secrets)
	}
	t.Logf("%d secrets in %d places: 0 may be left", secrets, cases)
}

// TestNoNamedSecretIsLeft does so for what is secret by its name alone.
func TestNoNamedSecretIsLeft(t *testing.T) {
	r, chance := mustNew(t, Rules{}), rand.New(rand.NewPCG(3, 4))
	for _, name := range linesOf(t, "named.txt") {
		s, _ := made("zq{A10}", chance)
		pair := name + "=" + s
		for place, h := range map[string]held{
			"JSON":     {response: whittle.Response{Header: whittle.Header{"Content-Type": {"application/json"}}, Body: []byte(`{"a":{"` + name + `":"` + s + `"}}`)}},
			"a list":   {response: whittle.Response{Header: whittle.Header{"Content-Type": {"application/json"}}, Body: []byte(`{"` + name + `":["` + s + `"]}`)}},
			"a form":   {request: whittle.Request{Header: whittle.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, Body: []byte("a=b&" + pair)}},
			"a query":  {request: whittle.Request{Target: "/x?" + pair}},
			"a log":    {response: whittle.Response{Header: whittle.Header{"Content-Type": {"text/plain"}}, Body: []byte("at=now " + pair + " end")}},
			"XML":      {response: whittle.Response{Header: whittle.Header{"Content-Type": {"application/xml"}}, Body: []byte("<a><" + name + ">" + s + "</" + name + "></a>")}},
			"a header": {request: whittle.Request{Header: whittle.Header{"X-" + name: {s}}}},
		} {
			if left := leftOf(r, h); strings.Contains(left, s) {
				t.Errorf("%s in %s is left in %s", name, place, left)
			}
		}
	}
	for _, target := range []string{"/login?ticket=abcdef", "/login?service=x&ticket=ST-1-ab"} {
		if left := leftOf(r, held{request: whittle.Request{Target: target}}); strings.Contains(left, "abcdef") || strings.Contains(left, "ST-1-ab") {
			t.Errorf("%s: the ticket is left in %s", target, left)
		}
	}
}

// TestOrdinaryTextsStay counts what is redacted without need: none of a list of
// texts that look like secrets.
func TestOrdinaryTextsStay(t *testing.T) {
	r := mustNew(t, Rules{})
	for _, s := range append(linesOf(t, "ordinary.txt"), linesOf(t, "ordinary_second.txt")...) {
		fatal.Same(t, string(r.Text([]byte(s))), s, "redacted")
	}
}
