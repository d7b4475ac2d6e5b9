package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

// validator is the schema that stands in the repository, as an editor uses it.
func validator(t testing.TB) *jsonschema.Schema {
	t.Helper()
	text, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	return compiled(t, text)
}

func compiled(t testing.TB, text []byte) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(schemaFile, doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// valid says what the schema has against a YAML text, read as an editor reads it.
func valid(t testing.TB, s *jsonschema.Schema, src string) error {
	t.Helper()
	var v any
	if err := yaml.Unmarshal([]byte(src), &v); err != nil {
		return err
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(doc)
}

// beyond names what a schema cannot say: relations between fields, the environment,
// other files, and ranges of durations and sizes.
const (
	good   = "good"
	bad    = "bad"
	beyond = "bad, and no schema says so"
)

// corpus has configs with what the reader makes of them. The schema has to agree but
// where that is beyond it. A text without monolith: is a route's, one that begins with
// a blank is a candidate's, and so is said only what matters.
var corpus = []struct{ verdict, src string }{
	{good, "monolith: http://127.0.0.1:3000"},
	{good, "{monolith: http://127.0.0.1:3000}"},
	{good, `{"monolith": "https://shop.example/app"}`},
	{good, "monolith: h2c://127.0.0.1:3000"},
	{bad, "monolith: ftp://127.0.0.1"},
	{bad, "monolith: 127.0.0.1:3000"},
	{bad, "monolith: 3000"},
	{good, "monolith: [http://127.0.0.1:3000, http://127.0.0.1:3001]"},
	{bad, "monolith: []"},
	{good, "monolith: unix:///run/app.sock"},
	{bad, "monolith: unix://run/app.sock"},
	{good, "monolith: srv+https://_web._tcp.shop.example"},
	{beyond, "monolith: srv+http://_web._tcp.shop.example:80"},
	{bad, "monolith: srv+ftp://h"},
	{beyond, "monolith: [http://127.0.0.1:3000, https://127.0.0.1:3001]"},
	{good, "monolith: {url: http://h, resolver: \"10.0.0.2:53\", host: url, health: {path: \"/up?x=1\", status: 200-204}, eject: off, panic: 10%}"},
	{good, "monolith: {url: https://h, host: a.b:80, tls: {ca: ca.pem, min_version: 1.3}, proxy_protocol: v2, max_age: 1h, max_requests: 5}"},
	{bad, "monolith: {url: http://h, host: a b}"},
	{bad, "monolith: {url: http://h, resolver: dns}"},
	{bad, "monolith: {url: http://h, eject: on}"},
	{bad, "monolith: {url: http://h, eject: {consecutive: 0}}"},
	{bad, "monolith: {url: http://h, health: {path: up}}"},
	{bad, "monolith: {url: http://h, health: {status: good}}"},
	{good, "monolith: {url: h2c://h, health: {grpc: {service: shop.v1.Cart}, interval: 1s}}"},
	{good, "monolith: {url: srv+https://_web._tcp.h, health: {grpc: {}}}"},
	{bad, "monolith: {url: h2c://h, health: {grpc: {service: a/b}}}"},
	{bad, "monolith: {url: h2c://h, health: {grpc: {name: a}}}"},
	{beyond, "monolith: {url: http://h, health: {grpc: {}}}"},
	{beyond, "monolith: {url: h2c://h, health: {grpc: {}, path: /up}}"},
	{beyond, "monolith: {url: h2c://h, health: {grpc: {}, status: 200}}"},
	{bad, "monolith: {url: http://h, proxy_protocol: v3}"},
	{bad, "monolith: {url: http://h, max_requests: 0}"},
	{beyond, "monolith: {url: http://h, tls: {ca: ca.pem}}"},
	{beyond, "monolith: {url: https://h, tls: {cert: a.pem}}"},
	{bad, "monolith: [3000]"},
	{bad, "monolith:"},
	{bad, "monolith: {}"},
	{bad, "monolith: {url: http://h, urk: 1}"},
	{bad, "monolith: {timeout: 3s}"},
	{bad, "monolith: http://h?a=b"},
	{beyond, "monolith: http://h:99999"},
	{beyond, "monolith: http://user:word@h"},
	{bad, "listen: :8080"},
	{bad, "[]"},
	{bad, "just words"},
	{bad, "monolith: http://h\nmonolit: http://h"},
	{bad, "monolith: http://h\nrutes: []"},
	{good, "monolith: http://h\nroutes: []"},
	{bad, "monolith: http://h\nroutes: {}"},
	{bad, "monolith: http://h\nroutes: [GET /a]"},
	{good, "monolith: http://h\nlisten: 127.0.0.1:0"},
	{good, `{monolith: "http://h", listen: "[::1]:80"}`},
	{bad, "monolith: http://h\nlisten: 8080"},
	{bad, "monolith: http://h\nlisten: localhost"},
	{beyond, "monolith: http://h\nlisten: :99999"},
	{beyond, "monolith: http://127.0.0.1:8080\nlisten: :8080"},
	{good, "monolith: http://h\nfleet: {name: n, member: a, nats: embedded, secret_file: token, peers: {a: 10.0.0.1:6222, b: gw-b:6222, c: \"[::1]:6222\"}}"},
	{good, "monolith: http://h\nfleet: {name: n, member: a, nats: embedded, secret_file: token, listen: 0.0.0.0:6222, store: /var/lib/x, replicas: 3, peers: {a: h:1, b: i:1, c: j:1}}"},
	{good, "monolith: http://h\nfleet: {name: n, member: a, nats: embedded, secret_file: token, tls: {ca: a, cert: b, key: c}, peers: {a: h:1, b: i:1}}"},
	{beyond, "monolith: http://h\nfleet: {name: n, member: a, nats: embedded, peers: {a: 10.0.0.1:6222, b: gw-b:6222, c: \"[::1]:6222\"}}"},
	{beyond, "monolith: http://h\nfleet: {name: n, member: a, nats: embedded, secret_file: token}"},
	{beyond, "monolith: http://h\nfleet: {name: n, member: a, nats: embedded, secret_file: short.token, peers: {a: 10.0.0.1:6222, b: gw-b:6222, c: \"[::1]:6222\"}}"},
	{beyond, "monolith: http://h\nfleet: {name: n, member: a, nats: embedded, secret_file: token, peers: {a: h:1}}"},
	{beyond, "monolith: http://h\nfleet: {name: n, member: a, nats: embedded, secret_file: token, peers: {b: h:1, c: i:1}}"},
	{beyond, "monolith: http://h\nfleet: {name: n, member: a, nats: embedded, secret_file: token, peers: {a: h:1, b: h:1}}"},
	{beyond, "monolith: http://h\nfleet: {name: n, member: a, nats: embedded, secret_file: token, peers: {a: \"0.0.0.0:1\", b: h:1}}"},
	{beyond, "monolith: http://h\nfleet: {name: n, member: a, nats: embedded, secret_file: token, peers: {a: \":1\", b: h:1}}"},
	{beyond, "monolith: http://h\nfleet: {name: n, member: a, nats: embedded, secret_file: token, peers: {a: h, b: i:1}}"},
	{beyond, "monolith: http://h\nfleet: {name: n, member: a, nats: embedded, secret_file: token, peers: {a: \"nats://h:1\", b: i:1}}"},
	{beyond, "monolith: http://h\nfleet: {name: n, member: a, nats: embedded, secret_file: token, peers: {a: h:0, b: i:1}}"},
	{beyond, "monolith: http://h\nfleet: {name: n, member: a, nats: embedded, secret_file: token, peers: {a: h:1, b.c: i:1}}"},
	{beyond, "monolith: http://h\nfleet: {name: n, member: a, nats: embedded, secret_file: token, peers: {a: h:1, b: i:1, c: j:1, d: k:1, e: l:1, f: m:1, g: n:1, h: o:1}}"},
	{beyond, "monolith: http://h\nfleet: {name: n, member: a, nats: embedded, secret_file: token, replicas: 3, peers: {a: h:1, b: i:1}}"},
	{beyond, "monolith: http://h\nfleet: {name: n, member: a, nats: embedded, secret_file: token, tls: {ca: a}, peers: {a: h:1, b: i:1}}"},
	{beyond, "monolith: http://h\nfleet: {name: n, member: a, nats: embedded, secret_file: token, tls: {ca: a, cert: b, key: c, server_name: s}, peers: {a: h:1, b: i:1}}"},
	{beyond, "monolith: http://h\nfleet: {name: n, member: a, nats: embedded, secret_file: token, credentials: token, peers: {a: h:1, b: i:1}}"},
	{beyond, "monolith: http://h\nfleet: {name: n, member: a, nats: nats://h, peers: {a: h:1, b: i:1}}"},
	{beyond, "monolith: http://h\nfleet: {name: n, member: a, nats: nats://h, store: x}"},
	{bad, "monolith: http://h\nfleet: {name: n, member: a, nats: embed, secret_file: token, peers: {a: h:1, b: i:1}}"},
	{bad, "monolith: http://h\nfleet: {name: n, member: a, nats: embedded, secret: 0123456789abcdef, peers: {a: h:1, b: i:1}}"},
	{bad, "monolith: http://h\nfleet: {name: n, member: a, nats: embedded, secret_file: token, peers: [h:1, i:1]}"},
	{bad, "monolith: http://h\nfleet: {name: n, member: a, nats: embedded, secret_file: token, listen: here, peers: {a: h:1, b: i:1}}"},
	{good, "monolith: http://h\nadmin: off"},
	{good, "monolith: http://h\nadmin: {listen: 127.0.0.1:9, token_file: token}"},
	{bad, "monolith: http://h\nadmin: {listen: 127.0.0.1:9, token: secret}"},
	{bad, "monolith: http://h\nadmin: no"},
	{beyond, "monolith: http://h\nadmin: 0.0.0.0:8081"},
	{beyond, "monolith: http://h\nadmin: {listen: 127.0.0.1:9, token_file: none}"},
	{good, "monolith: http://h\ntls: {cert: a.pem, key: b.pem}"},
	{beyond, "monolith: http://h\ntls: {cert: a.pem}"},
	{beyond, "monolith: http://h\ntls: {key: a.pem}"},
	{beyond, "monolith: http://h\ntls: {min_version: \"1.3\"}"},
	{good, "monolith: http://h\ntls: {folder: certificates, min_version: \"1.3\", client: {ca: ca.pem, required: false}}"},
	{bad, "monolith: http://h\ntls: {folder: certificates, min_version: \"1.1\"}"},
	{bad, "monolith: http://h\ntls: {folder: certificates, client: {required: false}}"},
	{good, "monolith: http://h\nlisten: [\":80\", {address: \":443\", tls: {cert: a.pem, key: b.pem}}]"},
	{good, "monolith: http://h\nlisten: {address: \":80\", redirect: https}"},
	{good, "monolith: http://h\nlisten: {address: \":80\", redirect: {status: 301, port: 8443}}"},
	{good, "monolith: http://h\nlisten: {address: \"unix:/run/s\", mode: \"0660\"}"},
	{good, "monolith: http://h\nlisten: unix:s"},
	{bad, "monolith: http://h\nlisten: []"},
	{bad, "monolith: http://h\nlisten: {tls: true}"},
	{bad, "monolith: http://h\nlisten: \"unix:\""},
	{bad, "monolith: http://h\nlisten: {address: \"unix:/s\", mode: \"999\"}"},
	{bad, "monolith: http://h\nlisten: {address: \":80\", redirect: http}"},
	{bad, "monolith: http://h\nlisten: {address: \":80\", redirect: {status: 303}}"},
	{bad, "monolith: http://h\nlisten: {address: \":80\", proxy_protocol: {}}"},
	{bad, "monolith: http://h\nlisten: {address: \":80\", proxy_protocol: true}"},
	{good, "monolith: http://h\nlisten: {address: \":80\", proxy_protocol: {trust: [10.0.0.0/8]}}"},
	{bad, "monolith: http://h\nlisten: {address: \":80\", proxy_protocol: {trust: []}}"},
	{beyond, "monolith: http://h\nlisten: {address: \":80\", mode: \"0660\"}"},
	{beyond, "monolith: http://h\nlisten: {address: \":80\", tls: true}"},
	{beyond, "monolith: http://h\nlisten: [\":80\", \":80\"]"},
	{beyond, "monolith: http://h\nlisten: [\":80\"]\ntls: {cert: a.pem, key: b.pem}"},
	{beyond, "monolith: http://h\nlisten: {address: \":80\", redirect: https, tls: {cert: a.pem, key: b.pem}}"},
	{good, "monolith: http://h\ndrain: {lame_duck: 10s, upgraded: 5m}"},
	{bad, "monolith: http://h\ndrain: {lame_duck: 10}"},
	{beyond, "monolith: http://h\ndrain: {upgraded: 0s}"},
	{bad, "monolith: http://h\ntls: a.pem"},
	{good, "monolith: http://h\nlimits: {connections: 10, header: 16KiB, body: off, grace: 5s}"},
	{good, "monolith: http://h\nlimits: {}"},
	{bad, "monolith: http://h\nlimits: {connections: 0}"},
	{bad, "monolith: http://h\nlimits: {connections: 2000000}"},
	{bad, "monolith: http://h\nlimits: {connections: many}"},
	{bad, "monolith: http://h\nlimits: {connections: 1.5}"},
	{good, "monolith: http://h\nlimits: {connections: \"10\"}"},
	{bad, "monolith: http://h\nlimits: {header: 16}"},
	{bad, "monolith: http://h\nlimits: {header: 16 kilobytes}"},
	{beyond, "monolith: http://h\nlimits: {header: 1GiB}"},
	{bad, "monolith: http://h\nlimits: {grace: 5}"},
	{bad, "monolith: http://h\nlimits: {grace: soon}"},
	{beyond, "monolith: http://h\nlimits: {grace: 5h}"},
	{good, "monolith: http://h\nlimits: {idle_timeout: 1h30m}"},
	{good, "monolith: http://h\nforwarded: {trust: [10.0.0.0/8, \"::1\"]}"},
	{bad, "monolith: http://h\nforwarded: {trust: 10.0.0.0/8}"},
	{bad, "monolith: http://h\nforwarded: {trust: [everybody]}"},
	{bad, "monolith: http://h\nlog: {level: loud}"},
	{bad, "monolith: http://h\nlog: {access: maybe}"},
	{good, "monolith: http://h\nlog: {access: \"true\"}"},
	{good, "monolith: http://h\ntrace: {otlp: http://c:4318, sample: 0.5 %}"},
	{bad, "monolith: http://h\ntrace: {sample: 0.5}"},
	{good, "monolith: http://${WHITTLE_TEST_HOST}:3000"},
	{good, "monolith: http://h\nlimits: {connections: \"${WHITTLE_TEST_NONE:-7}\"}"},
	{beyond, "monolith: http://${WHITTLE_TEST_NONE}:3000"},
	{good, "monolith: http://h\nstate: 7"},
	{bad, "monolith: http://h\nstate: [a]"},
	{good, "match: POST /Count"},
	{good, "match: /static/{rest...}"},
	{bad, "match: POST Count"},
	{bad, "match: post /Count"},
	{bad, "match: POST /a b"},
	{bad, "match: POST /a?b"},
	{bad, "match: [POST /a]"},
	{beyond, "match: GET /users/:id"},
	{bad, "candidate: http://c"},
	{bad, "match: GET /a\nsafe: \"yes\""},
	{beyond, "match: GET /a\nsafe: true"},
	{good, "match: GET /a\nheader: X-Beta=1"},
	{bad, "match: GET /a\nheader: X-Beta"},
	{good, " safe: true"},
	{bad, " safe: 1"},
	{good, " dry_run: {X-Dry-Run: \"yes\"}"},
	{bad, " dry_run: {}"},
	{bad, " dry_run: {A: b, C: d}"},
	{bad, " dry_run: X-Dry-Run"},
	{good, " compare: exact"},
	{bad, " compare: fuzzy"},
	{good, " compare: {kind: json, headers: [Location]}"},
	{good, " compare: {headers: all}"},
	{bad, " compare: {headers: some}"},
	{bad, " compare: {headers: {}}"},
	{good, " compare: {headers: []}"},
	{bad, " compare: {headers: [\"a b\"]}"},
	{bad, " compare: {ignore: $.id}"},
	{bad, " compare: {ignore: [id]}"},
	{good, " compare: {ignore: [$.id, \"$..etag\"], tolerance: 10%}"},
	{bad, " compare: {tolerance: 2}"},
	{beyond, " compare: {tolerance: 1.0e-9}"},
	{beyond, " compare: {value: json.sum}"},
	{good, " compare: {form: {$.id: uuid}}"},
	{bad, " compare: {form: {$.id: guid}}"},
	{good, " compare: {confidence: 0.99}"},
	{bad, " compare: {confidence: 1}"},
	{bad, " compare: {expect: [{kind: status}]}"},
	{good, " compare: {expect: [{kind: status, from: 404, reason: gone}]}"},
	{bad, " compare: {expect: [{kind: statsu, reason: gone}]}"},
	{good, " rollout: {steps: [0.5, 10%, 100], hold: 0, retry: off}"},
	{bad, " rollout: {steps: [all]}"},
	{bad, " rollout: {steps: [101]}"},
	{bad, " rollout: {steps: []}"},
	{beyond, " rollout: {steps: [5, 1]}"},
	{good, " rollout: {sticky_by: cookie:sid}"},
	{bad, " rollout: {sticky_by: session}"},
	{bad, " rollout: {harm: 1}"},
	{good, " guard: {p99: 0, errors: 1%, exposure: 10}"},
	{bad, " guard: {p99: 1.5}"},
	{bad, " guard: {mismach: 1%}"},
	{beyond, " guard: {p99: 0.5x}"},
	{beyond, " guard: {cpu: 2x}"},
	{bad, " mirror: {queue: -1}"},
	{bad, " mirror: {max_body: big}"},
	{beyond, " mirror: {max_body: 8MiB, max_memory: 1MiB}"},
	{good, " candidate: {url: http://c, rpc: {protocol: twirp, descriptor: count.binpb, method: twirp.carved.Carved/Count}}"},
	{bad, " candidate: {url: http://c, rpc: {protocol: thrift, descriptor: count.binpb, method: a.B/C}}"},
	{bad, " candidate: {url: http://c, rpc: {protocol: twirp, method: a.B/C}}"},
	{bad, " candidate: {url: http://c, rpc: {protocol: twirp, descriptor: count.binpb, method: Count}}"},
	{beyond, " candidate: {url: http://c, rpc: {protocol: twirp, descriptor: none.binpb, method: a.B/C}}"},
	{beyond, " candidate: {url: http://c, response: {status: 200}}"},
	{bad, " candidate: {url: http://c, max_answer: 4MiB}"},
	{bad, " rehearsal: {X-Dry-Run: \"yes\"}"},
}

// TestTheSchemaAgreesWithCheck holds the schema to the reader on a corpus.
func TestTheSchemaAgreesWithCheck(t *testing.T) {
	t.Setenv("WHITTLE_TEST_HOST", "127.0.0.1")
	s, included := validator(t), compiled(t, IncludedSchema())
	for _, c := range corpus {
		src := c.src
		if strings.HasPrefix(src, " ") {
			if src = "match: GET /a\n" + src[1:]; !strings.Contains(src, "candidate:") {
				src += "\ncandidate: http://c"
			}
		}
		if strings.HasPrefix(src, "match:") || strings.HasPrefix(src, "candidate:") {
			src = "monolith: http://h\nroutes:\n  - " + strings.ReplaceAll(src, "\n", "\n    ")
		}
		_, err := Parse("whittle.yaml", []byte(src), readable(t))
		if (err == nil) != (c.verdict == good) {
			t.Errorf("%s: not %s: %v", src, c.verdict, err)
		}
		if err := valid(t, s, src); (err == nil) == (c.verdict == bad) {
			t.Errorf("%s\nis %s; the schema says: %v", src, c.verdict, err)
		}
		if routes, alone := strings.CutPrefix(src, "monolith: http://h\nroutes:"); alone {
			if err := valid(t, included, "routes:"+routes); (err == nil) == (c.verdict == bad) {
				t.Errorf("%s\nis %s; the schema of an included file says: %v", src, c.verdict, err)
			}
		}
	}
}

// TestTheSchemaOfIncludedFiles holds it to the reader in what an included file is as a
// whole; what its routes are, it has from the schema of a config.
func TestTheSchemaOfIncludedFiles(t *testing.T) {
	s := compiled(t, IncludedSchema())
	for _, c := range []struct{ verdict, src string }{
		{good, "routes: []"},
		{good, "routes: [{match: GET /a, candidate: http://c}]"},
		{good, "{}"},
		{bad, "routes:"},
		{bad, "routes: {match: GET /a}"},
		{bad, "rutes: []"},
		{bad, "monolith: http://h\nroutes: []"},
		{bad, "include: more.yaml\nroutes: []"},
		{bad, "[]"},
		{bad, "just words"},
		{beyond, "routes: [{match: GET /a, guard: {errors: 1%}}]"},
	} {
		if err := valid(t, s, c.src); (err == nil) == (c.verdict == bad) {
			t.Errorf("%s\nis %s; the schema says: %v", c.src, c.verdict, err)
		}
		if err := including(t, "monolith: http://h\ninclude: routes.yaml", c.src, readable(t)); (err == nil) != (c.verdict == good) {
			t.Errorf("%s: not %s: %v", c.src, c.verdict, err)
		}
	}
}

// including says what the reader has against a config with an included file.
func including(t testing.TB, config, src string, read func(string) ([]byte, error)) error {
	t.Helper()
	root, err := parseYAML([]byte(config))
	if err != nil {
		t.Fatal(err)
	}
	r := newReader("whittle.yaml")
	r.listed = func(string) ([]string, error) { return []string{"routes.yaml"}, nil }
	r.file(root, func(path string) ([]byte, error) {
		if path == "routes.yaml" {
			return []byte(src), nil
		}
		return read(path)
	})
	return r.err()
}

// faultsBeyond are the configs in testdata whose faults no schema could name.
var faultsBeyond = []string{"wrong-embedded", "wrong-embedded-peers", "wrong-environment", "wrong-not-embedded", "wrong-notice", "wrong-overlap", "wrong-query-server", "wrong-token-env", "wrong-token-file", "wrong-underscores"}

func TestTheSchemaAgreesWithTheGoldenFiles(t *testing.T) {
	s := validator(t)
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		isBad := strings.HasPrefix(name, "wrong-") && !slices.Contains(faultsBeyond, name)
		if err := valid(t, s, string(src)); (err != nil) != isBad {
			t.Errorf("%s: %v", path, err)
		}
	}
}

var block = regexp.MustCompile("(?ms)^( *)```ya?ml\n(.*?)^ *```")

// TestTheGuidesExamples: every config that a page shows, whole or in part, is taken by
// the schema and by the reader, and with a misspelt key by neither; and so are its routes in
// a file of their own.
func TestTheGuidesExamples(t *testing.T) {
	t.Setenv("WHITTLE_TEST_PORT", "3000")
	s, included := validator(t), compiled(t, IncludedSchema())
	var pages []string
	for _, pattern := range []string{"../../*.md", "../../docs/*.md", "../../docs/*/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	files := readable(t)
	read := func(path string) ([]byte, error) {
		if strings.HasPrefix(path, "/run/secrets/") && strings.HasSuffix(path, ".url") {
			return []byte("https://hooks.example/x"), nil
		}
		if strings.HasPrefix(path, "/run/secrets/") {
			return fmt.Appendf(nil, "%032s", filepath.Base(path)), nil
		}
		return files(path)
	}
	shown, alone := 0, 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range block.FindAllStringSubmatch(string(text), -1) {
			src, ok := wholeConfig(t, strings.ReplaceAll("\n"+m[2], "\n"+m[1], "\n"))
			if !ok {
				continue
			}
			shown++
			if err := valid(t, s, src); err != nil {
				t.Errorf("%s: the schema refuses an example: %v\n%s", page, err, src)
			}
			r := newReader("whittle.yaml")
			r.listed = func(string) ([]string, error) { return nil, nil }
			if _, err := r.parsed([]byte(src), read); err != nil {
				t.Errorf("%s: %v\n%s", page, err, src)
			}
			if err := valid(t, s, src+"\nmonolit: x\n"); err == nil {
				t.Errorf("%s: the schema takes a misspelt key", page)
			}
			config, routes := apart(t, src)
			if routes == "" {
				continue
			}
			alone++
			if err := errors.Join(valid(t, included, routes), including(t, config, routes, read)); err != nil {
				t.Errorf("%s: as an included file: %v\n%s", page, err, routes)
			}
			if err := valid(t, included, routes+"\nrutes: []\n"); err == nil {
				t.Errorf("%s: the schema of an included file takes a misspelt key", page)
			}
		}
	}
	if shown < 8 || alone < 8 {
		t.Errorf("only %d examples were found, %d of them with routes", shown, alone)
	}
}

// apart puts an example's routes into a file of their own, which the rest includes. Empty:
// it has none.
func apart(t *testing.T, src string) (config, routes string) {
	t.Helper()
	var v map[string]yaml.Node // whose texts stay as they are written
	if err := yaml.Unmarshal([]byte(src), &v); err != nil {
		t.Fatalf("%v\n%s", err, src)
	}
	list, given := v["routes"]
	if !given {
		return src, ""
	}
	v["include"] = yaml.Node{Kind: yaml.ScalarNode, Value: "routes.yaml"}
	delete(v, "routes")
	text := func(v map[string]yaml.Node) string {
		b, err := yaml.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	return text(v), text(map[string]yaml.Node{"routes": list})
}

// wholeConfig completes an example: a part of a route becomes a route, and a config
// without a monolith gets one. It is false for what is another program's file.
func wholeConfig(t *testing.T, src string) (string, bool) {
	t.Helper()
	var v map[string]any
	if err := yaml.Unmarshal([]byte(src), &v); err != nil {
		t.Fatalf("%v\n%s", err, src)
	}
	for _, foreign := range []string{"scenarios", "openapi", "services", "apiVersion"} {
		if _, is := v[foreign]; is {
			return "", false
		}
	}
	x := explore()
	for key := range v {
		if !slices.Contains(x.keys[""], key) {
			if _, matched := v["match"]; !matched {
				src = "match: GET /a\ncandidate: http://c\n" + src
			}
			src = "routes:\n  - " + strings.ReplaceAll(strings.TrimSpace(src), "\n", "\n    ")
			break
		}
	}
	if _, given := v["monolith"]; !given {
		src = "monolith: http://h\n" + src
	}
	return src, true
}
