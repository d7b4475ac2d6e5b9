package config

import (
	"strings"
	"testing"
	"time"

	"whittle"
)

const recordHead = "monolith: http://127.0.0.1:3000\n"

func TestRecord(t *testing.T) {
	f, err := Parse("a/w.yaml", []byte(recordHead+`
record: {sample: 5%, max_age: 24h, max_bytes: 64MiB}
redact: {headers: [X-Tenant], fields: [phone], paths: [$.a], patterns: ["o-(\\d+)"], keep: [nextToken, shape-email]}
routes:
  - {match: GET /a, record: off}
  - {match: GET /b, record: 100%}
  - {match: GET /c, candidate: http://127.0.0.1:1}
`), readable(t))
	if err != nil {
		t.Fatal(err)
	}
	want := Record{Dir: "a/recorded", KeyFile: "a/recorded.key", Sample: whittle.Percent(5), MaxBody: mib, MaxBytes: 64 * mib, MaxAge: 24 * time.Hour}
	if *f.Record != want {
		t.Errorf("%+v", *f.Record)
	}
	for i, share := range []whittle.Share{0, whittle.All, whittle.Percent(5)} {
		if f.Routes[i].Record != share {
			t.Errorf("%s: %d", f.Routes[i].Name, f.Routes[i].Record)
		}
	}
	if d := f.Redact; d.Headers[0] != "X-Tenant" || d.Fields[0] != "phone" || d.Paths[0] != "$.a" || d.Patterns[0] != `o-(\d+)` || len(d.Keep) != 2 {
		t.Errorf("%+v", d)
	}
	var b strings.Builder
	if err := f.Describe(&b); err != nil {
		t.Fatal(err)
	}
	for _, words := range []string{
		"record     5% of the connections at a time into a/recorded, at most 64MiB and 24h old, bodies up to 1MiB",
		"e-mail addresses; headers X-Tenant; fields phone; paths $.a; patterns o-(\\d+); but not nextToken, shape-email",
		"recorded   never", "recorded   100% of the connections",
	} {
		if !strings.Contains(b.String(), words) {
			t.Errorf("%q is not in\n%s", words, &b)
		}
	}
}

func TestRecordFaults(t *testing.T) {
	for src, want := range map[string]string{
		"record: {sample: 10}":              `w.yaml:2:18: record.sample: "10" is not a share: write 10%`,
		"record: {max_age: 7d}":             `w.yaml:2:19: record.max_age: "7d" is not a duration`,
		"record: {folder: x}":               "w.yaml:2:10: record.folder: unknown field",
		"record: on":                        "w.yaml:2:9: record: this is",
		"redact: {paths: [user.phone]}":     `w.yaml:2:18: redact.paths[0]: "user.phone" is not a JSON path`,
		"redact: {fields: ['']}":            `w.yaml:2:19: redact.fields[0]: "" is no name`,
		"routes: [{match: /a, record: 5%}]": "w.yaml:2:30: routes[0].record: has no effect without record:",
	} {
		_, err := Parse("w.yaml", []byte(recordHead+src+"\n"), readable(t))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", src, err, want)
		}
	}
	f, err := Parse("w.yaml", []byte(recordHead), readable(t))
	if err != nil || f.Record != nil {
		t.Error(f, err)
	}
}
