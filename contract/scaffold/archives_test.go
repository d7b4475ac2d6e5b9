package scaffold

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"whittle"
	"whittle/contract/infer"
	"whittle/record/capture"
	"whittle/record/har"
	"whittle/record/redact"
)

// saved is an exchange as a browser's user causes it.
type saved struct {
	method, target, kind, body string
	status                     int
	responseKind, response     string
	headers                    []string // of the response: "Name: value"
}

type object = map[string]any

func pairsOf(lines ...string) []object {
	out := []object{}
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ": ")
		out = append(out, object{"name": name, "value": value})
	}
	return out
}

// dialects are archives as Chrome, Firefox and Charles write them: with HTTP/2's
// pseudo-headers and members of its own; with the server's port for a connection
// and forms by text and fields; with forms by fields alone and bodies in base64.
var dialects = map[string]func(s saved) object{
	"Chrome": func(s saved) object {
		e := s.common()
		q, a := e["request"].(object), e["response"].(object)
		e["_initiator"], e["_priority"], e["_resourceType"], e["connection"] = object{"type": "script"}, "High", "fetch", "51"
		q["httpVersion"], a["httpVersion"], a["bodySize"], a["_transferSize"] = "h2", "h2", -1, 120
		q["headers"] = append(pairsOf(":authority: shop.test", ":method: "+s.method, "accept: */*"), q["headers"].([]object)...)
		if s.status/100 == 3 && s.response != "" { // it keeps no body of a redirect
			a["content"] = object{"size": 0, "mimeType": "x-unknown"}
		}
		return e
	},
	"Firefox": func(s saved) object {
		e := s.common()
		e["connection"], e["pageref"], e["serverIPAddress"] = "80", "page_1", "127.0.0.1"
		q := e["request"].(object)
		q["headersSize"] = 300
		if post, ok := q["postData"].(object); ok {
			post["params"] = []object{}
			if strings.Contains(s.kind, "urlencoded") {
				post["params"] = s.fields()
			}
		}
		return e
	},
	"Charles": func(s saved) object {
		e := s.common()
		q, a := e["request"].(object), e["response"].(object)
		if post, ok := q["postData"].(object); ok && strings.Contains(s.kind, "urlencoded") {
			delete(post, "text")
			post["params"] = s.fields()
		}
		if s.response != "" {
			content := a["content"].(object)
			content["encoding"], content["text"] = "base64", base64.StdEncoding.EncodeToString([]byte(s.response))
		}
		return e
	},
}

// fields are a form's pairs without their escapes.
func (s saved) fields() []object {
	out := []object{}
	for pair := range strings.SplitSeq(s.body, "&") {
		name, value, _ := strings.Cut(pair, "=")
		name, _ = url.QueryUnescape(name)
		value, _ = url.QueryUnescape(value)
		out = append(out, object{"name": name, "value": value})
	}
	return out
}

func (s saved) common() object {
	q := object{"method": s.method, "url": "http://shop.test" + s.target, "httpVersion": "HTTP/1.1", "cookies": []object{}, "queryString": []object{}, "headers": pairsOf("Host: shop.test"), "headersSize": -1, "bodySize": len(s.body)}
	if s.body != "" {
		q["headers"] = append(q["headers"].([]object), pairsOf("Content-Type: "+s.kind, fmt.Sprintf("Content-Length: %d", len(s.body)))...)
		q["postData"] = object{"mimeType": s.kind, "text": s.body}
	}
	headers := append(s.headers, fmt.Sprintf("Content-Length: %d", len(s.response)))
	if s.responseKind != "" {
		headers = append(headers, "Content-Type: "+s.responseKind)
	}
	return object{
		"startedDateTime": "2026-03-01T12:00:00.250Z", "time": 12.5, "request": q, "cache": object{}, "timings": object{"send": 0, "wait": 12, "receive": 0},
		"response": object{
			"status": s.status, "statusText": "", "httpVersion": "HTTP/1.1", "cookies": []object{}, "headers": pairsOf(headers...), "redirectURL": "", "headersSize": -1, "bodySize": len(s.response),
			"content": object{"size": len(s.response), "mimeType": s.responseKind, "text": s.response},
		},
	}
}

const (
	asJSON = "application/json; charset=utf-8"
	asForm = "application/x-www-form-urlencoded"
)

// query is one of GraphQL, with its variables.
func query(variables, data string) saved {
	return saved{"POST", "/graphql", "application/json", `{"operationName":"Q","query":"query Q { q }","variables":` + variables + `}`, 200, asJSON, `{"data":` + data + `}`, nil}
}

// posted is a login by form.
func posted(form string, status int, kind, text string, headers ...string) saved {
	return saved{"POST", "/login", asForm, form, status, kind, text, headers}
}

// archives are what an archive holds of one endpoint, and what becomes of it.
var archives = []struct {
	name string
	of   []saved
	want outcome
}{
	{"GraphQL without variables", []saved{{"POST", "/graphql", "application/json", `{"query":"{ q }"}`, 200, asJSON, `{"data":{"q":1}}`, nil}}, right},
	{"GraphQL, variables null", []saved{query(`null`, `{"q":1}`), query(`{"id":1}`, `{"q":1}`)}, right},
	{"GraphQL, variables empty", []saved{query(`{}`, `{"q":1}`)}, right},
	{"GraphQL, a nested value null", []saved{query(`{"filter":{"tag":"a","owner":null}}`, `{"q":1}`)}, right},
	{"GraphQL, a nested value null or set", []saved{query(`{"filter":{"owner":null}}`, `{"q":1}`), query(`{"filter":{"owner":"ann"}}`, `{"q":1}`)}, right},
	{"GraphQL, a nested value null or absent", []saved{query(`{"filter":{"owner":null}}`, `{"q":1}`), query(`{"filter":{}}`, `{"q":1}`)}, right},
	{"GraphQL, a nested value null, absent or set", []saved{query(`{"filter":{"owner":null}}`, `{"q":1}`), query(`{"filter":{}}`, `{"q":1}`), query(`{"filter":{"owner":{"id":1}}}`, `{"q":1}`)}, right},
	{"GraphQL, a nested object null", []saved{query(`{"input":{"address":null}}`, `{"q":1}`), query(`{"input":{"address":{"city":"x"}}}`, `{"q":1}`)}, right},
	{"GraphQL, lists of objects with nulls", []saved{query(`{"lines":[{"sku":"a","gift":null},{"sku":"b","gift":{"wrap":true}}]}`, `{"q":1}`)}, right},
	{"GraphQL, a list null or empty", []saved{query(`{"tags":null}`, `{"q":1}`), query(`{"tags":[]}`, `{"q":1}`)}, right},
	{"GraphQL, a list with a null in it", []saved{query(`{"tags":["a",null]}`, `{"q":1}`)}, right},
	{"GraphQL, lists of lists", []saved{query(`{"box":[[1,2],[3,4]]}`, `{"q":[[1.5]]}`)}, right},
	{"GraphQL, deep and/or", []saved{query(`{"where":{"and":[{"or":[{"name":{"eq":"a"}},{"age":{"gt":1}}]},{"not":{"id":{"in":[1,2]}}}]}}`, `{"q":1}`)}, right},
	{"GraphQL, data of several operations", []saved{query(`{}`, `{"a":{"x":1}}`), query(`{"b":1}`, `{"b":[1,2]}`), query(`{"c":1}`, `{"c":null}`)}, right},
	{"GraphQL, data null with errors", []saved{{"POST", "/graphql", "application/json", `{"query":"{ q }"}`, 200, asJSON, `{"data":null,"errors":[{"message":"no","path":["q",0],"extensions":{"code":"X"}}]}`, nil}}, right},
	{"GraphQL, errors in some", []saved{query(`{}`, `{"q":null},"errors":[{"message":"no","locations":[{"line":1,"column":2}]}]`), query(`{"a":1}`, `{"q":1}`)}, right},
	{"GraphQL, fragments and aliases", []saved{{"POST", "/graphql", "application/json", `{"query":"fragment F on T { a } query { x: q { ...F } }","variables":{}}`, 200, asJSON, `{"data":{"x":{"a":1,"__typename":"T"}}}`, nil}}, right},
	{"GraphQL, a persisted query", []saved{{"POST", "/graphql", "application/json", `{"operationName":"Q","variables":{},"extensions":{"persistedQuery":{"version":1,"sha256Hash":"ecf4"}}}`, 200, asJSON, `{"data":{"q":1}}`, nil}}, right},
	{"GraphQL, several in one request", []saved{{"POST", "/graphql", "application/json", `[{"query":"{ a }"},{"query":"{ b }","variables":{"x":null}}]`, 200, asJSON, `[{"data":{"a":1}},{"data":{"b":null}}]`, nil}}, right},
	{"GraphQL by GET", []saved{{"GET", "/graphql?query=%7Bq%7D&variables=%7B%22a%22%3Anull%7D", "", "", 200, asJSON, `{"data":{"q":1}}`, nil}}, right},
	{"GraphQL's own response type", []saved{{"POST", "/graphql", "application/json", `{"query":"{ q }"}`, 200, "application/graphql-response+json", `{"data":{"q":1}}`, nil}}, right},
	{"GraphQL, large and odd numbers", []saved{query(`{"id":9007199254740993,"x":1e300,"y":-0}`, `{"q":18446744073709551615}`)}, right},
	{"GraphQL, a number that no message holds", []saved{query(`{"x":1e400}`, `{"q":1}`)}, refused},
	{"GraphQL, names that differ in case", []saved{query(`{"userId":1,"userID":2,"user_id":3}`, `{"q":1}`)}, right},
	{"GraphQL, a query as application/graphql", []saved{{"POST", "/graphql", "application/graphql", `{ q }`, 200, asJSON, `{"data":{"q":1}}`, nil}}, refused},
	{"GraphQL, an upload", []saved{{"POST", "/graphql", "multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data; name=\"operations\"\r\n\r\n{}\r\n--x--\r\n", 200, asJSON, `{"data":{"q":1}}`, nil}}, refused},

	{"login, 302 and a cookie, no body", []saved{posted("user=ann&password=p", 302, "", "", "Location: /home", "Set-Cookie: sid=1; Path=/; HttpOnly")}, right},
	{"login, 303", []saved{posted("user=ann&password=p", 303, "", "", "Location: /home")}, right},
	{"login, 307", []saved{posted("user=ann&password=p", 307, "", "", "Location: /other")}, right},
	{"login, failures redirect too", []saved{posted("user=ann&password=p", 302, "", "", "Location: /home"), posted("user=bob&password=q", 302, "", "", "Location: /login?error=1")}, right},
	{"login, empty and repeated fields", []saved{posted("user=&role=a&role=b&remember=", 302, "", "", "Location: /home")}, right},
	{"login, fields with brackets", []saved{posted("user%5Bname%5D=ann&user%5Bpassword%5D=p&_csrf=x%2By%3D", 302, "", "", "Location: /home")}, right},
	{"login, blanks and umlauts", []saved{posted("user=ann+b%C3%A9&city=a%20b", 302, "", "", "Location: /home")}, right},
	{"login, a field without a value", []saved{posted("user=ann&remember", 302, "", "", "Location: /home")}, right},
	{"login, a page with 200", []saved{posted("user=ann&password=p", 200, "text/html; charset=utf-8", "<h1>Hello ann</h1>")}, right},
	{"login, JSON with 200", []saved{posted("user=ann&password=p", 200, asJSON, `{"token":"abcdefghijklmnop","user":{"id":1}}`)}, right},
	{"login by JSON", []saved{{"POST", "/login", "application/json", `{"user":"ann","password":"p","remember":true}`, 200, asJSON, `{"ok":true}`, []string{"Set-Cookie: sid=1"}}}, right},
	{"login by JSON, 204", []saved{{"POST", "/login", "application/json", `{"user":"ann","password":"p"}`, 204, "", "", []string{"Set-Cookie: sid=1"}}}, right},
	{"login by OAuth, the code in a query", []saved{{"GET", "/callback?code=abc&state=xyz", "", "", 302, "", "", []string{"Location: /home"}}}, right},
	{"logout", []saved{{"POST", "/logout", "", "", 302, "", "", []string{"Location: /", "Set-Cookie: sid=; Max-Age=0"}}}, right},
	{"a short link", []saved{{"GET", "/s/4711", "", "", 301, "", "", []string{"Location: /articles/4711"}}}, right},
	{"login by multipart", []saved{{"POST", "/login", "multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data; name=\"user\"\r\n\r\nann\r\n--x--\r\n", 302, "", "", []string{"Location: /home"}}}, refused},
	{"login that only ever failed", []saved{posted("user=ann&password=q", 401, asJSON, `{"error":"no"}`)}, refused},
	{"login that was limited", []saved{posted("user=ann&password=q", 429, asJSON, `{"error":"slow down"}`, "Retry-After: 3")}, refused},
}

// redirectWithText is a login whose redirect has a text, which Chrome does not keep.
var redirectWithText = posted("user=ann&password=p", 302, "text/plain; charset=utf-8", "Found. Redirecting to /home", "Location: /home")

// TestArchives: of each form of GraphQL requests and of logins, in archives as
// Chrome, Firefox and Charles write them, a contract has it right or says that it
// left it out.
func TestArchives(t *testing.T) {
	count := map[string]map[outcome]int{"GraphQL requests": {}, "logins and redirects": {}}
	for dialect, write := range dialects {
		for _, a := range archives {
			of := "logins and redirects"
			if strings.HasPrefix(a.name, "GraphQL") {
				of = "GraphQL requests"
			}
			got, why := archived(t, write, a.of)
			count[of][got]++
			t.Logf("%s, %s: %s %v", dialect, a.name, got, why)
			if got != a.want {
				t.Errorf("%s, %s is %s, want %s: %v", dialect, a.name, got, a.want, why)
			}
		}
		want := right
		if dialect == "Chrome" {
			want = refused
		}
		got, why := archived(t, write, []saved{redirectWithText})
		count["logins and redirects"][got]++
		if got != want || want == refused && !strings.Contains(fmt.Sprint(why), "body missing") {
			t.Errorf("%s, a redirect with a text is %s: %v", dialect, got, why)
		}
	}
	for of, c := range count {
		inDocs(t, fmt.Sprintf("| %s in archives of Chrome, Firefox and Charles | %d | %d | %d | %d |", of, c[right]+c[refused]+c[wrong], c[right], c[refused], c[wrong]))
	}
}

// TestArchivesMakeAService builds a service of all those forms at once, GraphQL's on
// one endpoint, and runs its tests.
func TestArchivesMakeAService(t *testing.T) {
	var entries []object
	for _, a := range archives {
		if a.want != right || a.of[0].target == "/login" && !strings.Contains(a.name, "login, 302") && !strings.Contains(a.name, "fields") {
			continue
		}
		for _, s := range a.of {
			entries = append(entries, dialects["Firefox"](s))
		}
	}
	text, err := json.Marshal(object{"log": object{"version": "1.2", "entries": entries}})
	if err != nil {
		t.Fatal(err)
	}
	log, err := readArchive(t, string(text))
	if err != nil {
		t.Fatal(err)
	}
	c, proof, err := infer.Learn(func() iter.Seq2[*capture.Entry, error] { return entriesOf(log) }, infer.Options{Package: "odd.v1", Service: "OddService"})
	if err != nil || proof.Kept != proof.Exchanges || len(c.Methods) < 5 {
		t.Fatalf("%+v, %v", proof, err)
	}
	p, err := Make(t.Context(), c, entriesOf(log), Options{Dir: filepath.Join(t.TempDir(), "odd"), Module: "odd", Source: "archives"})
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range p.Coverage {
		if one.Tests.Covered != one.Tests.Inputs {
			t.Errorf("%s: %s", one.Method, one.Tests)
		}
	}
	if err := p.Build(t.Context(), func(string) {}); err != nil {
		t.Fatal(err)
	}
}

// archived reads exchanges back from an archive, redacts them as whittle new does,
// and says what a contract makes of them.
func archived(t *testing.T, write func(saved) object, list []saved) (outcome, error) {
	t.Helper()
	var entries []object
	for _, s := range list {
		entries = append(entries, write(s))
	}
	text, err := json.Marshal(object{"log": object{"version": "1.2", "entries": entries}})
	if err != nil {
		t.Fatal(err)
	}
	log, err := readArchive(t, string(text))
	if err != nil {
		return refused, err
	}
	c, proof, err := infer.Learn(func() iter.Seq2[*capture.Entry, error] { return entriesOf(log) }, infer.Options{})
	if err != nil {
		return refused, err
	}
	if proof.Kept != len(list) {
		return wrong, fmt.Errorf("%+v", proof)
	}
	for i := range c.Methods {
		c.Methods[i].Safe = true
	}
	for _, e := range log {
		if err := tried(t, c, e); errors.Is(err, errLeft) {
			return refused, err
		} else if err != nil {
			return wrong, err
		}
	}
	return right, nil
}

func readArchive(t *testing.T, text string) (log []*capture.Entry, err error) {
	t.Helper()
	by, err := redact.New(redact.Rules{}, redact.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	for r := har.NewReader(strings.NewReader(text)); ; {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			return log, nil
		}
		if err != nil {
			return nil, err
		}
		by.Request(&e.Request)
		by.Response(&e.Response)
		if e.Response.Failure != whittle.NoFailure {
			t.Fatalf("no response: %+v", e.Response)
		}
		log = append(log, e)
	}
}
