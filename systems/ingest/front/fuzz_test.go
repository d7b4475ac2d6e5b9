package front

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// FuzzCredential holds that whatever stands where a write key may stand, what
// comes out is none or a plain one, and that a key that was put there properly
// comes out as it is.
func FuzzCredential(f *testing.F) {
	f.Add("Basic a2V5Og==", "")
	f.Add("Bearer key", "writeKey=k&x=1")
	f.Add("", "writeKey=%00")
	f.Add("Basic "+strings.Repeat("A", 1000), "%zz")
	f.Fuzz(func(t *testing.T, authorization, query string) {
		r := &http.Request{Header: http.Header{}, URL: &url.URL{RawQuery: query}}
		if authorization != "" {
			r.Header["Authorization"] = []string{authorization}
		}
		key, ok := credential(r)
		if ok && key != "" && !plain(key, maxKey) {
			t.Fatalf("%q is taken for a key", key)
		}
		given := strings.ReplaceAll(authorization, ":", "")
		if !plain(given, maxKey) {
			return
		}
		r.Header["Authorization"] = []string{"Basic " + base64.StdEncoding.EncodeToString([]byte(given+":"))}
		if key, ok := credential(r); !ok || key != given {
			t.Fatalf("%q came out as %q", given, key)
		}
	})
}

// FuzzKeys holds that every key of a file that is taken can be sent by Basic auth.
func FuzzKeys(f *testing.F) {
	f.Add([]byte("key1 note\n# no\n\nkey2"))
	f.Add([]byte("a:b"))
	f.Fuzz(func(t *testing.T, text []byte) {
		set, err := parseKeys(text)
		if err == nil && len(set) == 0 {
			t.Fatal("an empty list is taken")
		}
		for key := range set {
			if !plain(key, maxKey) || strings.Contains(key, ":") {
				t.Fatalf("%q is taken for a key", key)
			}
		}
	})
}
