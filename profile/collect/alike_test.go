package collect

import (
	"fmt"
	"maps"
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

// Paths that no table has are one endpoint where they differ in one part, the same code
// served them, and no other endpoint runs that; otherwise they stay what they are.
func TestPathsThatTheSameCodeServesAreOne(t *testing.T) {
	names := []string{"anna", "bernd", "carla", "dora", "emil", "fritz", "gerd", "hans"}
	ping := "GET /ping 6 handle pong"
	one := map[string]int64{"GET /users/{id}": 8, "GET /ping": 1}
	apart := func(requests ...string) map[string]int64 {
		out := map[string]int64{}
		for _, r := range requests {
			method, rest, _ := strings.Cut(r, " ")
			path, _, _ := strings.Cut(rest, " ")
			out[method+" "+path] = 1
		}
		return out
	}
	same := each("GET /users/NAME 6 handle show", names...)
	with := func(more map[string]int64, base map[string]int64) map[string]int64 {
		out := maps.Clone(base)
		maps.Copy(out, more)
		return out
	}
	dispatch := each("GET /NAME 6 handle", names...)
	own := []string{ping}
	for _, name := range names {
		own = append(own, "GET /users/"+name+" 6 handle "+name)
	}
	for name, c := range map[string]struct {
		requests []string
		want     map[string]int64
	}{
		"names":                            {append(same, ping), one},
		"names, and few of them were seen": {append(append(each("GET /users/NAME 5 handle show", names[:3]...), each("GET /users/NAME 0", names[3:]...)...), ping), one},
		"too few were seen":                {append(append(each("GET /users/NAME 9 handle show", names[:2]...), each("GET /users/NAME 4 handle show", names[2:]...)...), ping), apart(append(same, ping)...)},
		"seven names":                      {append(slices.Clone(same[:7]), ping), apart(append(slices.Clone(same[:7]), ping)...)},
		"each has code of its own":         {own, apart(own...)},
		"all that is known is a dispatch":  {append(dispatch, "GET /a/b 6 handle"), apart(append(dispatch, "GET /a/b 6 handle")...)},
		"there is nothing else to compare": {same, apart(same...)},
		"a line that worked itself":        {append(each("GET /users/NAME 6 handle show:7", names...), "GET /ping 0"), one},
		"one is another endpoint": {
			append(same, "GET /users/export 6 handle export", "GET /users/me 1 handle me", ping),
			with(map[string]int64{"GET /users/export": 1, "GET /users/me": 1}, one),
		},
		"two endpoints at a place": {
			append(append(same, each("GET /users/xNAME 6 handle other", names[:4]...)...), ping),
			with(map[string]int64{"GET /users/xanna": 1, "GET /users/xbernd": 1, "GET /users/xcarla": 1, "GET /users/xdora": 1}, one),
		},
		"below a key": {append(each("GET /users/NAME/cart 6 handle cart", names...), ping), map[string]int64{"GET /users/{id}/cart": 8, "GET /ping": 1}},
	} {
		p, m := ran(c.requests...)
		r := &router{}
		label(p, m, r)
		if !maps.Equal(p.Requests, c.want) {
			t.Errorf("%s: requests %v, want %v", name, p.Requests, c.want)
		}
		if n := len(p.Joined["GET /users/{id}"]); c.want["GET /users/{id}"] == 8 && n != 8 {
			t.Errorf("%s: %d are said to be joined, of 8", name, n)
		}
		for i := range p.Samples {
			if e := p.Samples[i].Endpoint; c.want[e] == 0 {
				t.Errorf("%s: a sample is of %q", name, e)
			}
		}
	}
}

// A table's endpoints are as the table says.
func TestATableKeepsItsEndpointsApart(t *testing.T) {
	p, m := ran(append(each("GET /users/NAME 6 handle show", "a", "b", "c", "d", "e", "f", "g", "h"), "GET /ping 6 pong")...)
	r := &router{endpoints: slices.Clone(m.names)}
	label(p, m, r)
	if len(p.Requests) != 9 || p.Joined != nil {
		t.Errorf("requests %v, joined %v", p.Requests, p.Joined)
	}
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
