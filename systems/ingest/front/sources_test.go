package front

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"whittle"
	"whittle/systems/ingest/stream"
)

func TestKeysFiles(t *testing.T) {
	hash, err := HashKey("secret")
	if err != nil || len(hash) != 71 || strings.Contains(hash, "secret") {
		t.Fatalf("%q, %v", hash, err)
	}
	for text, want := range map[string]string{
		"k1":          "",
		"k1 the shop": "",
		"k1 name=shop allow=events rate=100/s # mind the=notes": "",
		hash + " name=shop":          "",
		"":                           "no key in it",
		"k1\nk2 rat=100/s":           "line 2: rat= is none of name=",
		"k1 rate=100":                "line 1: rate=100 is no rate",
		"k1 rate=-1/s":               "is no rate",
		"k1 rate=0/s":                "is no rate",
		"k1 rate=NaN/s":              "is no rate",
		"k1 rate=1e30/s":             "is no rate",
		"k1 rate=1/w":                "is no rate",
		"k1 name=a rate=1/s name=b":  "line 1: name= again: which one counts?",
		"k1 rate=1/s rate=9/s":       "line 1: rate= again: which one counts?",
		"k1 rate: 100/s":             `"rate:" is no setting: it is rate=VALUE`,
		"k1\nname=shop allow=events": `line 2: "name=shop" is a setting`,
		"rate=5/s k1":                `"rate=5/s" is a setting`,
		"name":                       "",
		"k1 allow:replay":            `"allow:replay" is no setting`,
		"k1 name shop":               `"name" is no setting`,
		"k1 name=a\n# b\nk1 name=b":  "line 3: the key of line 1 again",
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
	keys, err := ReadKeys(keysFile(t, "all allow=events,import,replay\nplain\nevents allow=events\nimport allow=import\nreplay allow=replay\n"))
	if err != nil {
		t.Fatal(err)
	}
	record := stream.Record{ID: "1", Value: []byte("x")}
	record.Seal()
	framed := string(stream.AppendFramed(nil, &record))
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
		{"records", "/import", framed, "Content-Type: " + stream.RecordsType, "all replay"},
	} {
		for _, key := range []string{"all", "plain", "events", "import", "replay"} {
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

// TestQuotas: a source that sends more than its rate gets 429 with a time after
// which it is let in again; others are let in meanwhile.
func TestQuotas(t *testing.T) {
	path := keysFile(t, "k1 name=shop rate=10/s\nk2 name=app\nk3 name=slow rate=6/m\n")
	keys, err := ReadKeys(path)
	if err != nil {
		t.Fatal(err)
	}
	var now atomic.Int64
	now.Store(time.Now().UnixNano())
	registry := prometheus.NewRegistry()
	s := serve(t, func(o *Options) {
		o.Keys, o.Seen, o.Metrics = keys, nil, registry
		o.Now = func() time.Time { return time.Unix(0, now.Load()) }
	})
	send := func(key string, n int) result {
		return s.post("/v1/batch", batchOf(strings.Split(strings.TrimSuffix(strings.Repeat(track+"\n", n), "\n"), "\n")...), "Authorization: Bearer "+key)
	}
	if a := send("k1", 30); a.code != 200 { // a batch of any size comes through, once
		t.Fatalf("%d %s", a.code, a.text)
	}
	a := send("k1", 1)
	wait, err := strconv.Atoi(a.header.Get("Retry-After"))
	if a.code != 429 || a.Status != "unavailable" || err != nil || wait != 3 {
		t.Errorf("%d, Retry-After %q: %s", a.code, a.header.Get("Retry-After"), a.text)
	}
	if a := s.post("/v1/batch", `{"writeKey":"k1","batch":[`+track+`]}`); a.code != 429 {
		t.Errorf("by a key in the body: %d %s", a.code, a.text)
	}
	if a := send("k2", 100); a.code != 200 {
		t.Errorf("another source: %d", a.code)
	}
	// Reading the file again gives nobody a new second.
	if err := keys.Reload(); err != nil {
		t.Fatal(err)
	}
	if a := send("k1", 1); a.code != 429 {
		t.Errorf("after a reload: %d", a.code)
	}
	now.Add(int64(time.Duration(wait) * time.Second))
	if a := send("k1", 1); a.code != 200 {
		t.Errorf("after Retry-After: %d %s", a.code, a.text)
	}
	kept := 0
	for range 1000 { // over a hundred seconds
		now.Add(int64(100 * time.Millisecond))
		if a := send("k1", 3); a.code == 200 {
			kept += 3
		}
	}
	if kept < 990 || kept > 1015 {
		t.Errorf("%d events in a hundred seconds of ten", kept)
	}
	for range 3 {
		if a := send("k3", 1); a.code != 200 && a.header.Get("Retry-After") != "10" {
			t.Errorf("%d, Retry-After %q", a.code, a.header.Get("Retry-After"))
		}
	}
	// Another rate begins anew.
	if err := os.WriteFile(path, []byte("k1 name=shop rate=1000/s\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := keys.Reload(); err != nil {
		t.Fatal(err)
	}
	if a := send("k1", 3); a.code != 200 {
		t.Errorf("with another rate: %d", a.code)
	}
	if a := send("k2", 1); a.code != 401 {
		t.Errorf("a key that was taken off the list: %d", a.code)
	}
	if n := testutil.ToFloat64(s.front.metrics.sources.WithLabelValues("app", "accepted")); n != 100 {
		t.Errorf("%v events of app are counted", n)
	}
	if n := testutil.ToFloat64(s.front.metrics.refusedOf.WithLabelValues("shop", "429")); n < 600 {
		t.Errorf("%v refusals of shop are counted", n)
	}
}
