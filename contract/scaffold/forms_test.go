package scaffold

import (
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"whittle/contract/infer"
	"whittle/internal/fatal"
	"whittle/record/capture"
	"whittle/record/redact"
)

// saved is an exchange as a browser's user causes it.
type saved struct {
	method, target, kind, body string
	status                     int
	responseKind, response     string
	headers                    []string // of the response: "Name: value"
}

// entry is the exchange as it is recorded: redacted.
func (s *saved) entry(t *testing.T) *capture.Entry {
	t.Helper()
	e := recorded(s.method, s.target, s.body, s.status, s.responseKind, s.response)
	e.Request.Header["Content-Type"] = []string{s.kind}
	if s.kind == "" {
		delete(e.Request.Header, "Content-Type")
	}
	for _, line := range s.headers {
		name, value, _ := strings.Cut(line, ": ")
		e.Response.Header[name] = append(e.Response.Header[name], value)
	}
	by, err := redact.New(redact.Rules{}, redact.NewKey())
	fatal.If(t, err)
	by.Request(&e.Request)
	by.Response(&e.Response)
	return e
}

const (
	asJSON = "application/json; charset=utf-8"
	asForm = "application/x-www-form-urlencoded"
)

// query is one of GraphQL, with its variables.
func query(variables, data string) saved {
	return graphQL(`{"operationName":"Q","query":"query Q { q }","variables":`+variables+`}`, `{"data":`+data+`}`)
}

func graphQL(body, response string) saved {
	return saved{"POST", "/graphql", "application/json", body, 200, asJSON, response, nil}
}

const formData = "multipart/form-data; boundary=x"

// formPart is a body of formData with one field.
func formPart(name, value string) string {
	return "--x\r\nContent-Disposition: form-data; name=\"" + name + "\"\r\n\r\n" + value + "\r\n--x--\r\n"
}

// posted is a login by form.
func posted(form string, status int, kind, text string, headers ...string) saved {
	return saved{"POST", "/login", asForm, form, status, kind, text, headers}
}

// forms are what is recorded of one endpoint, and what becomes of it.
var forms = []struct {
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
	{"GraphQL, data null with errors", []saved{graphQL(
		`{"query":"{ q }"}`, `{"data":null,"errors":[{"message":"no","path":["q",0],"extensions":{"code":"X"}}]}`)}, right},
	{"GraphQL, errors in some", []saved{query(`{}`, `{"q":null},"errors":[{"message":"no","locations":[{"line":1,"column":2}]}]`), query(`{"a":1}`, `{"q":1}`)}, right},
	{"GraphQL, fragments and aliases", []saved{graphQL(
		`{"query":"fragment F on T { a } query { x: q { ...F } }","variables":{}}`, `{"data":{"x":{"a":1,"__typename":"T"}}}`)}, right},
	{"GraphQL, a persisted query", []saved{graphQL(
		`{"operationName":"Q","variables":{},"extensions":{"persistedQuery":{"version":1,"sha256Hash":"ecf4"}}}`, `{"data":{"q":1}}`)}, right},
	{"GraphQL, several in one request", []saved{graphQL(
		`[{"query":"{ a }"},{"query":"{ b }","variables":{"x":null}}]`, `[{"data":{"a":1}},{"data":{"b":null}}]`)}, right},
	{"GraphQL by GET", []saved{{"GET", "/graphql?query=%7Bq%7D&variables=%7B%22a%22%3Anull%7D", "", "", 200, asJSON, `{"data":{"q":1}}`, nil}}, right},
	{"GraphQL's own response type", []saved{{"POST", "/graphql", "application/json", `{"query":"{ q }"}`, 200, "application/graphql-response+json", `{"data":{"q":1}}`, nil}}, right},
	{"GraphQL, large and odd numbers", []saved{query(`{"id":9007199254740993,"x":1e300,"y":-0}`, `{"q":18446744073709551615}`)}, right},
	{"GraphQL, a number that no message holds", []saved{query(`{"x":1e400}`, `{"q":1}`)}, refused},
	{"GraphQL, names that differ in case", []saved{query(`{"userId":1,"userID":2,"user_id":3}`, `{"q":1}`)}, right},
	{"GraphQL, a query as application/graphql", []saved{{"POST", "/graphql", "application/graphql", `{ q }`, 200, asJSON, `{"data":{"q":1}}`, nil}}, refused},
	{"GraphQL, an upload", []saved{{"POST", "/graphql", formData, formPart("operations", "{}"), 200, asJSON, `{"data":{"q":1}}`, nil}}, refused},

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
	{"login by multipart", []saved{{"POST", "/login", formData, formPart("user", "ann"), 302, "", "", []string{"Location: /home"}}}, refused},
	{"login that only ever failed", []saved{posted("user=ann&password=q", 401, asJSON, `{"error":"no"}`)}, refused},
	{"login that was limited", []saved{posted("user=ann&password=q", 429, asJSON, `{"error":"slow down"}`, "Retry-After: 3")}, refused},
}

// TestRecordedForms: of each form of GraphQL requests and of logins a contract has it right or
// says that it left it out. (What each browser's archive makes of them is record/har's.)
func TestRecordedForms(t *testing.T) {
	count := map[string]map[outcome]int{"GraphQL requests": {}, "logins and redirects": {}}
	for _, a := range forms {
		of := "logins and redirects"
		if strings.HasPrefix(a.name, "GraphQL") {
			of = "GraphQL requests"
		}
		got, why := inferred(t, a.of)
		count[of][got]++
		fatal.Same(t, got, a.want, "%s: %v", a.name, why)
	}
	for of, c := range count {
		inDocs(t, fmt.Sprintf("| %s | %d | %d | %d | %d |", of, c[right]+c[refused]+c[wrong], c[right], c[refused], c[wrong]))
	}
}

// inferred says what a contract makes of exchanges.
func inferred(t *testing.T, list []saved) (outcome, error) {
	t.Helper()
	var log []*capture.Entry
	for _, s := range list {
		log = append(log, s.entry(t))
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
