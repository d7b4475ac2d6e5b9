package front

import (
	"bytes"
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
	f.Add([]byte("k name=shop allow=events,replay rate=1e3/m # x=y\nsha256:" + strings.Repeat("0a", 32)))
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := parseKeys(text)
		if err != nil {
			return
		}
		if len(list.grants) == 0 {
			t.Fatal("an empty list is taken")
		}
		for _, g := range list.grants {
			if g.rights == 0 || !plain(g.name, maxName) || g.limit != nil && !(g.limit.rate > 0) {
				t.Fatalf("%+v is taken for a grant", g)
			}
		}
		for line := range bytes.Lines(text) {
			fields := strings.Fields(string(line))
			if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
				continue
			}
			hash, hashed := strings.CutPrefix(fields[0], hashPrefix)
			if key := fields[0]; !hashed && (!plain(key, maxKey) || strings.Contains(key, ":")) || hashed && len(hash) != 64 {
				t.Fatalf("%q is taken for a key", key)
			}
		}
	})
}
