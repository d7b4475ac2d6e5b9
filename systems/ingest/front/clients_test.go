package front

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"whittle"
	"whittle/internal/fatal"
	"whittle/whittletest"
)

// TestImportOfASingleEvent: a JSON body of POST /import is kept byte for byte,
// and its messageId and its user do what they do for an event.
func TestImportOfASingleEvent(t *testing.T) {
	long := strings.Repeat("m", 257)
	for _, c := range []struct{ body, line, id, key string }{
		{`{"messageId":"m1","userId":"u1"}`, "Content-Type: application/json", "m1", "u1"},
		{` {"userId":"u1","messageId":"m1"}`, "Content-Type: application/x-www-form-urlencoded", "m1", "u1"}, // curl -d
		{`{"messageId":"m1","anonymousId":"a1","userId":""}`, "Content-Type: text/plain;charset=UTF-8", "m1", "a1"},
		{`{"messageId":"m\u0031","userId":12}`, "Content-Type: application/x-www-form-urlencoded", "m1", "12"},
		{`{"messageId":"m1","userId":"u1"}`, "Idempotency-Key: k1", "k1", "u1"},
		{`{"messageId":"m1"}`, "Content-Type: application/xml", "", ""},
		{`{"messageId":17,"userId":{}}`, "Content-Type: application/json", "", ""},
		{`{"messageId":"` + long + `","userId":"` + long + `"}`, "Content-Type: application/json", "", ""},
		{`{"messageId":"m1"`, "Content-Type: application/x-www-form-urlencoded", "", ""},
		{`messageId=m1&userId=u1`, "Content-Type: application/x-www-form-urlencoded", "", ""},
		{`[{"messageId":"m1"}]`, "Content-Type: application/json", "", ""},
		{`{"batch":7,"messageId":"m1","userId":"u"}`, "Content-Type: application/json", "m1", "u"},
		{" \n ", "Content-Type: text/plain", "", ""},
		{`{"batch":[{"type":"track","userId":"u","messageId":"m1"}]}`, "Content-Type: text/plain", "", ""},
	} {
		s := serve(t, nil)
		first, again := s.post("/import", c.body, c.line), s.post("/import", c.body, c.line)
		all := s.stream.records()
		if first.Status != "accepted" || len(all) == 0 || string(all[0].Value) != c.body || all[0].Key != c.key || c.id != "" && all[0].ID != c.id {
			t.Errorf("%s: %s, %+v", c.body, first.text, all)
			continue
		}
		fatal.Same(t, again.Status, map[bool]string{true: "accepted", false: "duplicate"}[c.id == ""], "%s again: %s", c.body, again.text)
	}
}

// TestPreflightsOfSDKs: a header that an SDK sends is allowed, whatever it is
// called, and nothing but names is given back.
func TestPreflightsOfSDKs(t *testing.T) {
	s := serve(t, nil)
	for asked, want := range map[string]string{
		"anonymousid,authorization,content-type": "anonymousid,authorization,content-type", // RudderStack's browser SDK
		"content-type, x-sdk-version":            "content-type, x-sdk-version",
		"":                                       headers[0],
		"a b":                                    headers[0],
		"a,,b":                                   headers[0],
		"a;b":                                    headers[0],
		strings.Repeat("a", 2000):                headers[0],
	} {
		lines := []string{"Origin: https://shop.example", "Access-Control-Request-Method: POST"}
		if asked != "" {
			lines = append(lines, "Access-Control-Request-Headers: "+asked)
		}
		a := s.send("OPTIONS", "/v1/track", nil, lines...)
		if got := a.header.Get("Access-Control-Allow-Headers"); got != want || a.code != 204 {
			t.Errorf("%.60q: %d, allowed are %.90q", asked, a.code, got)
		}
	}
	listed := serve(t, func(o *Options) { o.Origins = []string{"https://other.example"} })
	a := listed.send("OPTIONS", "/v1/track", nil, "Origin: https://shop.example", "Access-Control-Request-Method: POST", "Access-Control-Request-Headers: anonymousid")
	fatal.Same(t, a.header.Get("Access-Control-Allow-Headers"), "", "an origin that is not listed: %v", a.header)
}

// TestSettingsNameThisServer: an SDK that asks for settings first learns from them
// to send here.
func TestSettingsNameThisServer(t *testing.T) {
	s := serve(t, nil)
	for _, c := range []struct {
		method, path string
		code         int
		body         string
	}{
		{"GET", "/v1/projects/k1/settings", 200, `{"integrations":{"Segment.io":{"apiHost":"events.example:8443/v1","apiKey":"k1"}}}`},
		{"GET", "/projects/k1/settings", 200, `"apiHost":"events.example:8443/v1"`},
		{"GET", "/projects/%22%7D/settings", 200, `"apiKey":"\"}"`},
		{"POST", "/v1/projects/k1/settings", 404, "no such endpoint"},
		{"GET", "/v1/projects//settings", 404, "no such endpoint"},
		{"GET", "/v1/projects/a/b/settings", 404, "no such endpoint"},
		{"GET", "/v1/projects/a%20b/settings", 404, "no such endpoint"},
		{"GET", "/v1/projects/" + strings.Repeat("k", 500) + "/settings", 404, "no such endpoint"},
		{"GET", "/v1/v1/projects/k1/settings", 404, "no such endpoint"},
		{"GET", "/v1/projects/k1", 404, "no such endpoint"},
	} {
		r := httptest.NewRequest(c.method, "https://events.example:8443"+c.path, http.NoBody)
		r.Header.Set("Origin", "https://page.example")
		w := httptest.NewRecorder()
		s.front.ServeHTTP(w, r)
		if w.Code != c.code || !strings.Contains(w.Body.String(), c.body) || w.Header().Get("Content-Type") != "application/json" || w.Header().Get("Access-Control-Allow-Origin") == "" {
			t.Errorf("%s %s: %d %v %s", c.method, c.path, w.Code, w.Header(), w.Body)
		}
	}
}

func hashOf(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hashPrefix + hex.EncodeToString(sum[:])
}

func TestKeysFiles(t *testing.T) {
	hash := hashOf("secret")
	for text, want := range map[string]string{
		"k1":                            "",
		"k1 the shop":                   `line 1: "the shop" is not name=`,
		"k1 name=shop # mind the=notes": "",
		"k1 rate=100/s":                 "is not name=",
		hash + " name=shop":             "",
		"":                              "no key in it",
		"k1\nk2 rat=100/s":              `line 2: "rat=100/s" is not name=`,
		"k1 name=a too name=b":          "is not name=",
		"k1\nname=shop events":          `line 2: "name=shop" is a setting`,
		"name":                          "",
		"k1 allow=replay":               "is not name=",
		"k1 name shop":                  "is not name=",
		"k1 name=a\n# b\nk1 name=b":     "line 3: the key of line 1 again",
		"k1\nsha256:6ab9f1eb8f7d3388f4f9d586f66e99fd54080df2c446f0e58668b09c08a16dd0": "line 2: the key of line 1 again",
		"k1 name=":                           "is not name=",
		"k1 name=any":                        "is not name=",
		"k1 name=" + strings.Repeat("n", 65): "is not name=",
		"sha256:abc":                         "needs 64 hexadecimal digits",
		"sha256:" + strings.Repeat("x", 64):  "needs 64 hexadecimal digits",
		hash + "0":                           "needs 64 hexadecimal digits",
		"a:b":                                "a key is",
		"k\xc3\xa9y":                         "a key is",
		strings.Repeat("k", 129):             "a key is",
	} {
		_, err := ReadKeys(keysFile(t, text))
		if want == "" && err != nil || want != "" && (whittle.CodeOf(err) != whittle.Invalid || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v", text, err)
		}
	}
	_, err := ReadKeys("none")
	whittletest.Refused(t, err, whittle.Invalid, "no file")
	k, err := ReadKeys(keysFile(t, hash+"\nplain\n"))
	if err != nil || k.source("secret") == "" || k.source(hash) != "" || k.source("plain") == "" || len(k.list.Load().sources) != 2 || k.Plain() != 1 {
		t.Errorf("%+v, %v", k, err)
	}
}
