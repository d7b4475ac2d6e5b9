package config

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
)

//go:embed whittle.schema.json
var schema []byte

// Schema is the JSON Schema of a config (draft 7). It says of each field what the reader
// takes there; what relates one field to another, and ranges of durations and sizes, are
// left to the reader. Tests make it of the reader, and of the guide's words.
func Schema() []byte { return slices.Clone(schema) }

// IncludedSchema is that of a file which include names: routes, as a config has them, and
// nothing else.
func IncludedSchema() []byte {
	var whole struct {
		Draft      string `json:"$schema"`
		Properties struct {
			Routes json.RawMessage `json:"routes"`
		} `json:"properties"`
	}
	if err := json.Unmarshal(schema, &whole); err != nil {
		panic(fmt.Sprintf("whittle.schema.json, which tests write, is no JSON: %v", err))
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	err := e.Encode(map[string]any{
		"$schema": whole.Draft, "title": "routes of whittle.yaml in a file of their own", "type": "object",
		"additionalProperties": false, "properties": map[string]any{"routes": whole.Properties.Routes},
	})
	if err != nil {
		panic(fmt.Sprintf("encode the schema of an included file: %v", err))
	}
	return b.Bytes()
}

// survey notes what a reading asks for: the schema is made of it. Fields go by their
// paths without indices. A reading that nobody surveys has none, and nothing is noted.
type survey struct {
	// keys are the fields that each mapping was asked for, in order.
	keys map[string][]string
	// texts says of each single value which texts are taken.
	texts map[string]func(string) error
	// lists has how many items each list may have.
	lists map[string]int
	// mappings are the fields that were opened as one; those in closed refuse every
	// key that is not among keys.
	mappings, closed map[string]bool
}

// note takes down something about a field, where the reading is surveyed.
func (r *reader) note(field string, down func(s *survey, at string)) {
	if r.survey != nil {
		down(r.survey, withoutIndices(field))
	}
}

// places has the paths of each key, the shortest first.
var places = sync.OnceValue(func() map[string][]string {
	out := map[string][]string{}
	var whole shape
	if err := json.Unmarshal(schema, &whole); err != nil {
		panic(fmt.Sprintf("whittle.schema.json, which tests write, is no JSON: %v", err))
	}
	whole.walk("", out)
	for _, paths := range out {
		slices.SortFunc(paths, func(a, b string) int {
			return cmp.Or(strings.Count(a, ".")-strings.Count(b, "."), strings.Compare(a, b))
		})
	}
	return out
})

// shape is what places needs of a schema.
type shape struct {
	Properties map[string]shape `json:"properties"`
	Items      *shape           `json:"items"`
	AnyOf      []shape          `json:"anyOf"`
}

func (s *shape) walk(path string, out map[string][]string) {
	for key, of := range s.Properties {
		at := key
		if path != "" {
			at = path + "." + key
		}
		if !slices.Contains(out[key], at) {
			out[key] = append(out[key], at)
		}
		of.walk(at, out)
	}
	if s.Items != nil {
		s.Items.walk(path+"[]", out)
	}
	for i := range s.AnyOf {
		s.AnyOf[i].walk(path, out)
	}
}

// maxPlaces is how many places of a key a message names.
const maxPlaces = 3

// elsewhere says what to write in place of a key that a mapping does not have: its name
// here, or where it belongs; "": that is not known.
func elsewhere(key, path string, known []string) string {
	plain := plainKey(key)
	if path == "" && notConfigs[plain] != "" {
		return notConfigs[plain]
	}
	if names, ok := calledHere[plain]; ok {
		name := names[len(names)-1]
		if i := slices.IndexFunc(names, func(n string) bool {
			first, _, _ := strings.Cut(n, ".")
			return slices.Contains(known, strings.TrimSuffix(first, "[]"))
		}); i >= 0 {
			name = names[i]
		}
		return "here it is called " + name
	}
	path = withoutIndices(path)
	var here, there []string
	for _, at := range places()[key] {
		if below, ok := strings.CutPrefix(at, path+"."); ok && path != "" {
			here = append(here, below)
		} else {
			there = append(there, at)
		}
	}
	if len(here) > 0 {
		there = here
	}
	if len(there) == 0 {
		return ""
	}
	return "it belongs to " + strings.Join(there[:min(len(there), maxPlaces)], " or ")
}

// notConfigs are top-level keys of files that are no gateway's config.
var notConfigs = map[string]string{
	"scenarios":  "this looks like a load plan: whittle load runs it",
	"apiversion": "this looks like an object of Kubernetes: the config stands in a ConfigMap's data, as a text of its own",
}

// noSetting has, without dashes and in lower case, what other gateways have a key for, and
// what it is here.
var noSetting = func() map[string]string {
	const again = "there is none for it: what may be sent twice is sent again by itself"
	const kept = "there is none for it: connections are kept by themselves, and max_age and max_requests bound them"
	return map[string]string{
		"retries": again, "maxretries": again, "numretries": again, "retryon": again, "retrypolicy": again, "proxynextupstream": again,
		"keepalive": kept, "keepalives": kept, "maxidleconns": kept, "maxidleconnections": kept,
	}
}()

// plainKey is a key without dashes and in lower case.
func plainKey(key string) string {
	return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(key))
}

// calledHere has what other gateways call something, without dashes and in lower case, and
// what it is called here: of several names the one that the mapping has, else the last.
var calledHere = words(map[string]string{
	"max_conns monolith.max_conns": "circuitbreakers",
	"url candidate monolith": `proxypass upstream upstreams backend backends target origin server servers service services proxy
		cluster clusters loadbalancer to destination addr hostport urls replacement legacy`,
	"listen":       "listeners entrypoints port ports bind frontend",
	"match routes": "location path method rule prefix uri route routers locations virtualhosts routeconfig paths rules",
	"steps rollout.steps routes[].rollout.steps":             "weight weights stepweight stepweights maxweight setweight percent percentage canary",
	"hold rollout.hold routes[].rollout.hold":                "interval stepinterval pause",
	"rollout routes[].rollout":                               "analysis strategy",
	"guard routes[].guard":                                   "threshold thresholds",
	"gates rollout.gates routes[].rollout.gates":             "webhooks",
	"mirror routes[].mirror":                                 "shadow mirroring mirrorpercent requestmirrorpolicies",
	"rollout.sticky_by sticky_by routes[].rollout.sticky_by": "sticky affinity sessionaffinity stickycookie",
	"limits.body":                                          "clientmaxbodysize maxbodysize bodylimit",
	"limits.header":                                        "maxheaderbytes largeclientheaderbuffers",
	"limits.idle_timeout":                                  "keepalivetimeout",
	"limits.header_timeout":                                "clientheadertimeout readheadertimeout",
	"limits.stall_timeout":                                 "clientbodytimeout",
	"limits.grace":                                         "workershutdowntimeout shutdowntimeout draintimeout terminationgraceperiodseconds",
	"max_conns limits.connections":                         "workerconnections maxconnections",
	"read_timeout monolith.read_timeout":                   "proxyreadtimeout",
	"write_timeout monolith.write_timeout":                 "proxysendtimeout",
	"connect_timeout monolith.connect_timeout":             "proxyconnecttimeout dialtimeout",
	"timeout monolith.timeout":                             "requesttimeout timeouts",
	"eject monolith.eject":                                 "outlierdetection outlier ejection",
	"health monolith.health":                               "healthchecks healthcheck livenessprobe",
	"insecure monolith.insecure":                           "insecureskipverify tlsinsecure skipverify",
	"ca tls.ca monolith.tls.ca":                            "rootcas cafile",
	"server_name tls.server_name monolith.tls.server_name": "sni",
	"host monolith.host":                                   "passhostheader",
	"consecutive eject.consecutive":                        "consecutive5xx maxfails",
	"time eject.time":                                      "baseejectiontime failtimeout",
	"share eject.share":                                    "maxejectionpercent",
	"access":                                               "accesslog",
	"log":                                                  "errorlog logging",
	"log.level":                                            "loglevel",
	"log.format":                                           "logformat",
	"tls":                                                  "ssl",
	"cert tls.cert":                                        "sslcertificate certfile certificate",
	"key tls.key":                                          "sslcertificatekey keyfile",
	"rate clients.rate":                                    "limitreq ratelimit ratelimits",
	"clients.connections":                                  "limitconn",
	"forwarded.trust":                                      "realip setrealipfrom trustedproxies trustedips",
	"trace":                                                "tracing opentelemetry",
	"state":                                                "datadir statefile database",
	"token_file":                                           "token",
})

// words is a map from each of the words of its values to those of their key.
func words(of map[string]string) map[string][]string {
	out := map[string][]string{}
	for names, list := range of {
		for _, word := range strings.Fields(list) {
			out[word] = strings.Fields(names)
		}
	}
	return out
}
