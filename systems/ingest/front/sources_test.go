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
		"k1":                            "",
		"k1 the shop":                   "",
		"k1 name=shop # mind the=notes": "",
		"k1 rate=100/s":                 "for a proxy in front",
		hash + " name=shop":             "",
		"":                              "no key in it",
		"k1\nk2 rat=100/s":              "line 2: rat= is not name=",
		"k1 name=a too name=b":          "line 1: name= again: which one counts?",
		"k1\nname=shop events":          `line 2: "name=shop" is a setting`,
		"name":                          "",
		"k1 allow=replay":               "allow= is not name=",
		"k1 name shop":                  `"name" is no setting`,
		"k1 name=a\n# b\nk1 name=b":     "line 3: the key of line 1 again",
		"k1\nsha256:6ab9f1eb8f7d3388f4f9d586f66e99fd54080df2c446f0e58668b09c08a16dd0": "line 2: the key of line 1 again",
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
	if err != nil || k.source("secret") == "" || k.source(hash) != "" || k.source("plain") == "" || len(k.list.Load().sources) != 2 || k.Plain() != 1 {
		t.Errorf("%+v, %v", k, err)
	}
}
