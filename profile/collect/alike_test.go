package collect

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"whittle/profile"
)

// ran is a profile and the marks of requests that were each in a turn of their own, with
// so many samples of some own functions, the last at a line: "GET /users/anna 5 handle show:3".
func ran(lines ...string) (*profile.Profile, *marks) {
	p, m := &profile.Profile{Kind: profile.CPU, Runtime: profile.Node}, &marks{}
	functions := map[string]int32{}
	for _, line := range lines {
		words := strings.Fields(line)
		m.names = append(m.names, words[0]+" "+words[1])
		m.counts = append(m.counts, 1)
		m.times, m.codes = append(m.times, float64(1000*len(p.Samples)+1)), append(m.codes, int32(len(m.names)))
		n := 0
		fmt.Sscan(words[2], &n)
		var stack []profile.Frame
		for _, word := range words[3:] {
			name, line, _ := strings.Cut(word, ":")
			if _, ok := functions[name]; !ok {
				functions[name] = int32(len(p.Functions))
				p.Functions = append(p.Functions, profile.Function{Name: name})
			}
			at, _ := strconv.Atoi(line)
			stack = append([]profile.Frame{{Function: functions[name], Line: int32(at)}}, stack...)
		}
		for range n {
			p.Samples = append(p.Samples, profile.Sample{Stack: stack, Value: 1, At: time.Duration(len(p.Samples)*1000+2) * time.Microsecond})
		}
	}
	return p, m
}

// each is a line for each of some texts in a path.
func each(pattern string, texts ...string) []string {
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = strings.ReplaceAll(pattern, "NAME", text)
	}
	return out
}

// Two paths that differ in one part and that the same code served may be one endpoint;
// those of other code, of a table, or that were hardly seen, are not said to be.
func TestPathsThatMayBeOne(t *testing.T) {
	users := each("GET /users/NAME 6 handle show", "anna", "bernd")
	for name, c := range map[string]struct {
		requests []string
		table    []string
		want     []string
	}{
		"the same code":          {append(users, "GET /ping 6 handle pong"), nil, []string{"GET /users/bernd"}},
		"other code":             {[]string{users[0], "GET /users/bernd 6 handle other"}, nil, nil},
		"other lines":            {[]string{"GET /users/anna 6 handle:3", "GET /users/bernd 6 handle:4"}, nil, nil},
		"hardly seen":            {[]string{users[0], "GET /users/bernd 4 handle show"}, nil, nil},
		"two parts differ":       {[]string{users[0], "GET /people/bernd 6 handle show"}, nil, nil},
		"the other is a table's": {users, []string{"GET /users/bernd"}, nil},
	} {
		p, m := ran(c.requests...)
		label(p, m, &router{endpoints: c.table})
		if got, named := p.Paths["GET /users/anna"]; !named || !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	p, m := ran(users...)
	label(p, m, &router{endpoints: []string{"GET /users/:name"}})
	if len(p.Paths) > 0 {
		t.Errorf("a table's endpoint is named after a path: %q", p.Paths)
	}
}
