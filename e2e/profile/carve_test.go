//go:build linux

package profile

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"whittle/e2e/process"
	"whittle/internal/fatal"
	"whittle/profile/report"
)

// line gives file:line of the one line of a file that has some words in it.
func line(t *testing.T, file, words string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(process.Repository, file))
	fatal.If(t, err)
	found := ""
	for i, l := range strings.Split(string(b), "\n") {
		if strings.Contains(l, words) {
			if found != "" {
				t.Fatalf("%s: two lines have %q", file, words)
			}
			found = fmt.Sprintf("%s:%d", file, i+1)
		}
	}
	if found == "" {
		t.Fatalf("%s: no line has %q", file, words)
	}
	return found
}

// TestTheCarveIsReported profiles the count in Node and in Go, and compares the two.
func TestTheCarveIsReported(t *testing.T) {
	before, after := t.TempDir(), t.TempDir()

	node := process.Monolith(t)
	inspectors := listeningOn(t, node.Pid())
	out, r := counted(t, pid(node), node.Public, "/Count", before, 5)
	random := line(t, "systems/count/monolith/app.js", "Math.random")
	if len(r.Sites) == 0 || r.Sites[0].Where() != random {
		t.Errorf("the random sum at %s is not the dearest line: %+v", random, r.Sites)
	}
	// How much of the handler V8 gives to the line, and how much to the function alone,
	// changes with when it compiled what; together they are what the sum costs.
	handler := 0.0
	for _, s := range r.Sites {
		if s.Function == "handler of POST /Count" {
			handler += s.Share
		}
	}
	if handler < 0.4 {
		t.Errorf("the random sum's handler has %.2f of the CPU: %+v", handler, r.Sites)
	}
	if r.Words == "" || !strings.Contains(out, r.Words) || !strings.Contains(r.Words, random+", in handler of POST /Count") || !strings.Contains(r.Words, "POST /Count costs") {
		t.Errorf("words: %q", r.Words)
	}
	if len(r.Endpoints) == 0 || r.Endpoints[0].Name != "POST /Count" || r.Endpoints[0].CPUPerRequest <= 0 || r.Endpoints[0].Requests == 0 {
		t.Errorf("endpoints: %+v", r.Endpoints)
	}
	process.Until(t, "the inspector is closed again", func() bool {
		return fmt.Sprint(listeningOn(t, node.Pid())) == fmt.Sprint(inspectors)
	})
	node.Kill()

	published := counter(t, "count-as-published")
	_, r = counted(t, "http://"+published.Admin, published.Public, "/twirp/twirp.carved.Carved/Count", after, 20)
	if len(r.Sites) == 0 || !strings.HasSuffix(r.Sites[0].Where(), line(t, "systems/count/published/published.go", "s += r.Int31n(100)")) {
		t.Errorf("the line that draws is not the dearest: %+v", r.Sites)
	} else if s := r.Sites[0]; s.Callee != "math/rand.(*Rand).Int31n" || s.CalleeShare < 0.4 || !strings.Contains(r.Words, "by what it calls, rand.(*Rand).Int31n") {
		t.Errorf("the generator's cost is not shown: %+v, %q", s, r.Words)
	}

	path := filepath.Join(t.TempDir(), "difference.json")
	out = must(t, "profile", "diff", filepath.Join(before, "cpu.cpuprofile"), filepath.Join(after, "cpu.pb.gz"), "--json", path)
	c := reads[report.Comparison](t, path)
	const carved = "POST /Count → /twirp.carved.Carved/Count"
	if !c.PerRequest || len(c.Endpoints) == 0 || c.Endpoints[0].Name != carved {
		t.Fatalf("the endpoint is not one row: %+v", c.Endpoints)
	}
	row := c.Endpoints[0]
	if row.Before <= 0 || row.After <= 0 || row.Change >= 0 {
		t.Errorf("the row %+v", row)
	}
	if !strings.HasPrefix(c.Words, carved+": ") || !strings.Contains(c.Words, "before in Node.js") || !strings.Contains(c.Words, "after in Go") ||
		!strings.Contains(c.Before.Sentence, random) || !strings.Contains(c.After.Sentence, "rand.(*Rand).Int31n") || !strings.Contains(out, c.Words) {
		t.Errorf("the comparison:  %q; %q; %q", c.Words, c.Before.Sentence, c.After.Sentence)
	}
}

// TestAProfilingPortForAllIsPointedOut takes Node's inspector on every address.
func TestAProfilingPortForAllIsPointedOut(t *testing.T) {
	node := process.Monolith(t, "--inspect-port=0.0.0.0:0")
	ask(t, node)
	if out := must(t, "profile", pid(node), "--duration", "1s"); !strings.Contains(out, "can be reached from other machines") {
		t.Error("it is not pointed out")
	}
	shut := process.Monolith(t, "--inspect-port=127.0.0.1:0")
	ask(t, shut)
	if out := must(t, "profile", pid(shut), "--duration", "1s"); strings.Contains(out, "can be reached from other machines") {
		t.Error("one on loopback is pointed out")
	}
}

// ask looks whether a server responds.
func ask(t *testing.T, p *process.Process) {
	t.Helper()
	c, err := net.DialTimeout("tcp", p.Public, process.Patience)
	fatal.If(t, err)
	c.Close()
}
