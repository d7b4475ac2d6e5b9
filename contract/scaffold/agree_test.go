package scaffold

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strconv"
	"testing"

	"whittle"
	"whittle/carve/transcode"
	"whittle/internal/fatal"
)

// asked is a request to the shop, and whether the gateway takes it from users.
type asked struct {
	Method, Target, Type string
	Body                 body
	Taken                bool
}

// body may be no UTF-8, which JSON's strings have to be.
type body string

// MarshalText gives its bytes as they are written in Go.
func (b body) MarshalText() ([]byte, error) { return []byte(strconv.Quote(string(b))), nil }

// theyAgree holds what the gateway takes from users, and adds a test of the same to the shop's
// project: the port that speaks the monolith's own HTTP makes a message of a request where the
// gateway does, which refuses what is unknown and what would be lost, and nowhere else.
func theyAgree(t *testing.T, dir string) {
	t.Helper()
	f, err := readConfig(dir)
	fatal.If(t, err)
	const asJSON, asForm = "application/json", "application/x-www-form-urlencoded"
	table := []asked{
		{"POST", "/Count", asJSON, `{"times":7}`, true},
		{"POST", "/Count", asJSON, `{"times":0}`, true},
		{"POST", "/Count", asJSON, `{"times":7.0}`, true},
		{"POST", "/Count", asJSON, `{"times":7e0}`, true},
		{"POST", "/Count", "application/json; charset=utf-8", ` {"times":7} `, true},
		{"POST", "/Count", asJSON, `{}`, false},
		{"POST", "/Count", "", ``, false},
		{"POST", "/Count", asJSON, `{"times":null}`, false},
		{"POST", "/Count", asJSON, `{"times":"7"}`, false},
		{"POST", "/Count", asJSON, `{"times":7.5}`, false},
		{"POST", "/Count", asJSON, `{"times":007}`, false},
		{"POST", "/Count", asJSON, `{"times":99999999999}`, false},
		{"POST", "/Count", asJSON, `{"times":7,"times":8}`, false},
		{"POST", "/Count", asJSON, `{"times":7,"sort":1}`, false},
		{"POST", "/Count", asJSON, `{"times":7}{}`, false},
		{"POST", "/Count", asJSON, `null`, false},
		{"POST", "/Count", asForm, `times=7`, false},
		{"POST", "/Count", "", `{"times":7}`, false},
		{"POST", "/Count?x=1", asJSON, `{"times":7}`, false},
		{"POST", "/Count?times=7", asJSON, `{"times":7}`, false},
		{"POST", "/orders", asJSON, `{"customer":"ann","items":[]}`, true},
		{"POST", "/orders?dryRun=true", asJSON, `{"items":[{"price":1,"SKU":"a"}],"customer":""}`, true},
		{"POST", "/orders", asJSON, `{"customer":"ann","items":[{"SKU":"a","price":0.1,"state":"in work","gift":{"wrap":false}}]}`, true},
		{"POST", "/orders?dryRun=1", asJSON, `{"customer":"ann","items":[]}`, false},
		{"POST", "/orders?dryRun=true&dryRun=true", asJSON, `{"customer":"ann","items":[]}`, false},
		{"POST", "/orders?dry_run=true", asJSON, `{"customer":"ann","items":[]}`, false},
		{"POST", "/orders", asJSON, `{"customer":"ann"}`, false},
		{"POST", "/orders", asJSON, `{"items":[]}`, false},
		{"POST", "/orders", asJSON, `{"customer":"ann","items":[],"dryRun":true}`, false},
		{"POST", "/orders", asJSON, `{"customer":"ann","items":[{"sku":"a","price":1}]}`, false},
		{"POST", "/orders", asJSON, `{"customer":"ann","items":[{"SKU":"a","price":1,"state":"lost"}]}`, false},
		{"POST", "/orders", asJSON, `{"customer":"ann","items":[{"SKU":"a","price":1,"state":null}]}`, false},
		{"POST", "/orders", asJSON, `{"customer":"ann","items":[{"SKU":"a","price":1,"tags":[]}]}`, false},
		{"POST", "/orders", asJSON, `{"customer":"ann","items":[{"SKU":"a","price":1,"gift":{}}]}`, false},
		{"POST", "/orders", asJSON, `{"customer":"ann","items":[{"SKU":"a","price":0.1000000000000000055}]}`, false},
		{"POST", "/orders", asJSON, `{"customer":"` + "\xff" + `","items":[]}`, false},
		{"GET", "/greetings/ann/2", "", "", true},
		{"GET", "/greetings/a%2Fb%20%C3%A9/1?in=de", "", "", true},
		{"GET", "/greetings/ann/2?in=", "", "", true},
		{"GET", "/greetings/ann/02", "", "", false},
		{"GET", "/greetings/ann/two", "", "", false},
		{"GET", "/greetings/ann/2?in=de&in=en", "", "", false},
		{"GET", "/greetings/ann/2?sort=desc", "", "", false},
		{"GET", "/greetings/ann/2?in=de;x", "", "", false},
		{"GET", "/events", "", "", true},
		{"GET", "/events?limit=0", "", "", true},
		{"GET", "/events?limit=1&limit=2", "", "", false},
		{"GET", "/events?limit=", "", "", false},
	}
	mux := http.NewServeMux()
	byPattern := map[string]*transcode.Transcoder{}
	for _, r := range f.Routes {
		tr, err := transcode.New(*r.RPC, transcode.Pattern(r.Match.Pattern))
		fatal.If(t, err)
		byPattern[r.Name] = tr
		mux.Handle(r.Name, http.NotFoundHandler())
	}
	for _, a := range table {
		r, err := http.NewRequest(a.Method, "http://shop"+a.Target, nil)
		fatal.If(t, err)
		_, pattern := mux.Handler(r)
		q := &whittle.Request{Method: a.Method, Target: a.Target, Header: whittle.Header{}, Body: []byte(a.Body)}
		if a.Type != "" {
			q.Header["Content-Type"] = []string{a.Type}
		}
		if _, err := byPattern[pattern].Request(q); (err == nil) != a.Taken {
			t.Errorf("the gateway, %s %s %s: %v", a.Method, a.Target, a.Body, err)
		}
	}
	text, err := json.Marshal(table)
	fatal.If(t, err)
	for path, content := range map[string]string{"internal/server/agree.json": string(text), "internal/server/agree_test.go": agreeTest} {
		fatal.Write(t, filepath.Join(dir, path), content)
	}
}

// agreeTest is put into the project, where its bindings can be asked.
const agreeTest = `package server

import (
	"encoding/json"
	"net/http"
	"os"
	"strconv"
	"testing"

	"example.com/team/shop/internal/service"
)

func TestAgree(t *testing.T) {
	text, err := os.ReadFile("agree.json")
	if err != nil {
		t.Fatal(err)
	}
	var table []struct {
		Method, Target, Type, Body string
		Taken                      bool
	}
	if err := json.Unmarshal(text, &table); err != nil || len(table) < 40 {
		t.Fatal(len(table), err)
	}
	mux, methods := http.NewServeMux(), map[string]string{}
	for method, b := range service.Bindings {
		mux.Handle(b.String(), http.NotFoundHandler())
		methods[b.String()] = method
	}
	for _, a := range table {
		r, err := http.NewRequest(a.Method, "http://shop"+a.Target, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, pattern := mux.Handler(r)
		method := methods[pattern]
		body, err := strconv.Unquote(a.Body)
		if err != nil {
			t.Fatal(err)
		}
		x := &exchange{Method: a.Method, Target: a.Target, Type: a.Type, Text: body}
		if err := read(x, service.Bindings[method], rpcs[method].in()); (err == nil) != a.Taken {
			t.Errorf("%s %s %s: %v", a.Method, a.Target, a.Body, err)
		}
	}
}
`
