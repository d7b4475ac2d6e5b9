package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"whittle/internal/table"
)

// ours is whittle, as the rows name it.
const (
	ours      = "whittle"
	templated = "whittle-templated"
	oursH2    = "whittle-h2"
)

// tool is a load generator to compare with. Its arguments may hold {{url}},
// {{h2}} for the URL by HTTP/2, {{s}} for a measurement's seconds, {{conns}}, {{rate}}, {{each}} for the rate
// of each connection, and {{folder}}.
type tool struct {
	name    string
	program string // what runs; empty: the name
	// baseline is the row of ours that it is compared with; empty: ours.
	baseline string
	install  string
	// version is the pinned one, empty where the tool does not print it; ask makes
	// it print it.
	version string
	ask     []string
	// saturated sends as fast as responses come back; paced sends at the rate,
	// nil where the tool cannot.
	saturated, paced []string
	// stdin is what it reads its requests from.
	stdin string

	binary string
}

var peers = []tool{
	{name: "wrk", install: "apt-get install wrk", version: "4.1", ask: []string{"-v"}, saturated: []string{"-t1", "-c{{conns}}", "-d{{s}}s", "{{url}}"}},
	{
		name: "oha", install: "cargo install oha --locked",
		saturated: []string{"--no-tui", "-z", "{{s}}s", "-c", "{{conns}}", "{{url}}"},
		paced:     []string{"--no-tui", "-z", "{{s}}s", "-c", "{{conns}}", "-q", "{{rate}}", "--latency-correction", "{{url}}"},
	},
	{
		name: "oha-h2", program: "oha", baseline: oursH2, install: "cargo install oha --locked",
		saturated: []string{"--no-tui", "--http2", "-z", "{{s}}s", "-c", "{{conns}}", "-p", "1", "{{h2}}"},
	},
	{
		name: "hey", install: "go install github.com/rakyll/hey@v0.1.4",
		saturated: []string{"-z", "{{s}}s", "-c", "{{conns}}", "{{url}}"},
		paced:     []string{"-z", "{{s}}s", "-c", "{{conns}}", "-q", "{{each}}", "{{url}}"},
	},
	{
		name: "k6", install: "go install go.k6.io/k6@v1.0.0", version: "1.0", ask: []string{"version"},
		saturated: []string{"run", "--quiet", "--no-usage-report", "--vus", "{{conns}}", "--duration", "{{s}}s", "{{folder}}/saturated.js"},
		paced:     []string{"run", "--quiet", "--no-usage-report", "{{folder}}/paced.js"},
	},
	{
		name: "vegeta", install: "go install github.com/tsenart/vegeta/v12@v12.13.0", stdin: "GET {{url}}\n",
		saturated: []string{"attack", "-duration={{s}}s", "-rate=0", "-max-workers={{conns}}", "-output={{folder}}/vegeta.bin"},
		paced:     []string{"attack", "-duration={{s}}s", "-rate={{rate}}", "-max-workers={{conns}}", "-output={{folder}}/vegeta.bin"},
	},
}

// files are written into the folder: plans and scripts.
var files = map[string]string{
	"paced.yml": `config: {target: "{{url}}", phases: [{duration: {{s}}, arrivalRate: {{rate}}}], http: {pool: {{conns}}}}
scenarios: [{flow: [{get: {url: /}}]}]
`,
	"templated.yml": `config:
  target: "{{url}}"
  phases: [{duration: {{s}}, arrivalRate: {{rate}}}]
  http: {pool: {{conns}}}
  variables: {times: [1000, 150000, 10000000]}
scenarios:
- flow:
  - post:
      url: "/items/{{ $randomNumber(1, 99999) }}"
      headers: {x-request-id: "{{ $uuid }}"}
      json: {times: "{{ times }}", name: "{{ $randomString(12) }}", n: "{{ $randomNumber(1, 1000000) }}"}
      expect: {statusCode: 200}
`,
	"saturated.js": `import http from 'k6/http';
export default function () { http.get('{{url}}'); }
`,
	"paced.js": `import http from 'k6/http';
export const options = {scenarios: {paced: {executor: 'constant-arrival-rate', rate: {{rate}}, timeUnit: '1s',
  duration: '{{s}}s', preAllocatedVUs: {{conns}}, maxVUs: {{conns}}}}};
export default function () { http.get('{{url}}'); }
`,
}

// whittles are our own binary, in the ways that it is measured in.
func whittles(binary string) []tool {
	return []tool{
		{
			name: ours, binary: binary,
			saturated: []string{"load", "{{url}}", "--users", "{{conns}}", "--duration", "{{s}}s"},
			paced:     []string{"load", "{{folder}}/paced.yml", "--max-late=1h", "--json", "{{folder}}/paced.json"},
		},
		{
			name: oursH2, binary: binary,
			saturated: []string{"load", "{{h2}}", "--protocol", "h2", "--users", "{{conns}}", "--duration", "{{s}}s"},
		},
		{
			name: templated, binary: binary,
			saturated: []string{"load", "{{folder}}/templated.yml", "--users", "{{conns}}", "--duration", "{{s}}s"},
		},
	}
}

// findTools returns the tools that are here, ours first, with their arguments
// filled in, and says how to install the others.
func findTools(ctx context.Context, s settings, addr, h2 string) ([]tool, error) {
	fill := strings.NewReplacer(
		"{{url}}", "http://"+addr+"/", "{{h2}}", "http://"+h2+"/", "{{s}}", strconv.Itoa(int(s.duration.Seconds())), "{{conns}}", strconv.Itoa(s.conns),
		"{{rate}}", strconv.Itoa(s.rate), "{{each}}", strconv.FormatFloat(float64(s.rate)/float64(s.conns), 'f', -1, 64), "{{folder}}", s.folder,
	)
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(s.folder, name), []byte(fill.Replace(text)), 0o600); err != nil {
			return nil, fmt.Errorf("write %s: %w", name, err)
		}
	}
	tools := whittles(s.whittle)
	for _, t := range peers {
		t.program, t.baseline = cmp.Or(t.program, t.name), cmp.Or(t.baseline, ours)
		variable := strings.ToUpper(t.program)
		t.binary = cmp.Or(os.Getenv(variable), t.program)
		var err error
		if t.binary, err = exec.LookPath(t.binary); err != nil {
			fmt.Printf("%s is missing: %s (or %s=PATH)\n", t.name, t.install, variable)
			continue
		}
		if err := table.Pinned(ctx, t.name, t.binary, t.version, t.ask...); err != nil {
			return nil, err
		}
		tools = append(tools, t)
	}
	for i := range tools {
		t := &tools[i]
		t.stdin = fill.Replace(t.stdin)
		t.saturated, t.paced = filled(fill, t.saturated), filled(fill, t.paced)
	}
	return tools, nil
}

func filled(fill *strings.Replacer, args []string) (out []string) {
	for _, a := range args {
		out = append(out, fill.Replace(a))
	}
	return out
}
