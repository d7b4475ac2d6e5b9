package front

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"whittle"
)

func hashOf(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hashPrefix + hex.EncodeToString(sum[:])
}

func TestKeysFiles(t *testing.T) {
	hash := hashOf("secret")
	for text, want := range map[string]string{
		"k1":          "",
		"k1 the shop": "",
		"k1 name=shop allow=events # mind the=notes": "",
		"k1 rate=100/s":               "there are no rates here",
		hash + " name=shop":           "",
		"":                            "no key in it",
		"k1\nk2 rat=100/s":            "line 2: rat= is none of name=",
		"k1 name=a allow=none name=b": "line 1: name= again: which one counts?",
		"k1 rate: 100/s":              `"rate:" is no setting: it is rate=VALUE`,
		"k1\nname=shop allow=events":  `line 2: "name=shop" is a setting`,
		"rate=5/s k1":                 `"rate=5/s" is a setting`,
		"name":                        "",
		"k1 allow:import":             `"allow:import" is no setting`,
		"k1 allow=replay":             `"replay" is none of events, import`,
		"k1 name shop":                `"name" is no setting`,
		"k1 name=a\n# b\nk1 name=b":   "line 3: the key of line 1 again",
		"k1\nsha256:6ab9f1eb8f7d3388f4f9d586f66e99fd54080df2c446f0e58668b09c08a16dd0": "line 2: the key of line 1 again",
		"k1 allow=":                          `"" is none of events`,
		"k1 allow=events,delete":             `"delete" is none of events`,
		"k1 allow=none":                      "",
		"k1 allow=events,none":               `"none" is none of events`,
		"k1 name=":                           "a name is",
		"k1 name=any":                        "a name is",
		"k1 name=" + strings.Repeat("n", 65): "a name is",
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
	k, err := ReadKeys(keysFile(t, hash+"\nplain\n"))
	if err != nil || k.grant("secret") == nil || k.grant(hash) != nil || k.grant("plain") == nil || len(k.list.Load().grants) != 2 || k.Plain() != 1 {
		t.Errorf("%+v, %v", k, err)
	}
}

// TestRightsOfKeys: a key does what it may, wherever it is shown, and nothing is
// kept of what it may not.
func TestRightsOfKeys(t *testing.T) {
	keys, err := ReadKeys(keysFile(t, "all allow=events,import\nplain\nevents allow=events\nimport allow=import\n"))
	if err != nil {
		t.Fatal(err)
	}
	const isJSON = "Content-Type: application/json"
	for _, c := range []struct {
		name, path, body, line string
		allowed                string
	}{
		{"an event", "/v1/track", track, isJSON, "all plain events"},
		{"a batch", "/v1/batch", batchOf(track), isJSON, "all plain events"},
		{"a batch as import", "/import", batchOf(track), isJSON, "all plain events"},
		{"a raw body", "/import", "x", "Content-Type: text/plain", "all plain import"},
		{"raw JSON", "/import", `{"a":1}`, isJSON, "all plain import"},
	} {
		for _, key := range []string{"all", "plain", "events", "import"} {
			s := serve(t, func(o *Options) { o.Keys = keys })
			want := 403
			if strings.Contains(" "+c.allowed+" ", " "+key+" ") {
				want = 200
			}
			a := s.post(c.path, c.body, c.line, "Authorization: Bearer "+key)
			if a.code != want || (len(s.stream.records()) == 1) != (want == 200) {
				t.Errorf("%s by %s: %d %s", c.name, key, a.code, a.text)
			}
		}
	}
	s := serve(t, func(o *Options) { o.Keys = keys })
	if a := s.post("/v1/batch", `{"writeKey":"import","batch":[`+track+`]}`); a.code != 403 {
		t.Errorf("a key in the body: %d %s", a.code, a.text)
	}
}
