package profile

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"whittle/internal/fatal"
)

// look reads a profile of the count monolith, under Node.js 20, one second long
// or so, with its endpoints.
func look(t *testing.T, name string) *Profile {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "inlined", name+".cpuprofile"))
	fatal.If(t, err)
	p, err := ReadV8CPU(b, time.Time{})
	fatal.If(t, err)
	p.LabelEndpoints(func(f *Function) string {
		if f.File != "/srv/shop/app.js" {
			return ""
		}
		return map[int]string{13: "GET /", 17: "POST /Count"}[f.Line]
	}, nil)
	return p
}

// nativeBelow puts native code onto the stacks that end in functions of somebody's.
func nativeBelow(p *Profile, owner Owner) *Profile {
	native := Frame{Function: int32(len(p.Functions))}
	p.Functions = append(p.Functions, Function{Name: "run", Owner: System})
	for i := range p.Samples {
		s := &p.Samples[i]
		if p.Functions[s.Stack[0].Function].Owner == owner {
			s.Stack[0].Line = 0 // V8 knows the lines of leaves only
			s.Stack = append([]Frame{native}, s.Stack...)
		}
	}
	return p
}

func TestInlined(t *testing.T) {
	never := func(*Function, int32) bool { return false }
	ever := func(*Function, int32) bool { return true }
	for _, c := range []struct {
		name  string
		p     *Profile
		calls func(*Function, int32) bool
		want  Inlining
	}{
		{"a handler that was inlined into its router", look(t, "hidden"), never, Hidden},
		{"a handler that is on its stacks", look(t, "told"), never, Named},
		{"a handler whose hot line calls", look(t, "told"), ever, Hidden},
		{"many short responses", look(t, "short"), ever, Named},
		{"native code that a handler called by itself", nativeBelow(look(t, "told"), Own), func(_ *Function, line int32) bool { return line == 0 }, Hidden},
		{"native code that a module of Node's called", nativeBelow(look(t, "short"), Standard), never, Named},
		{"too few samples", fewOf(look(t, "told")), never, Untold},
		{"nothing", &Profile{Kind: CPU, Runtime: Node}, never, Untold},
	} {
		if got := c.p.Inlined(c.calls); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// Only the line that is hot is asked for, and endpoints that no source tells are
// no better than such that were lost.
func TestInlinedAsksForTheHotLine(t *testing.T) {
	p := look(t, "told")
	asked := 0
	p.Inlined(func(f *Function, line int32) bool {
		if asked++; f.File != "/srv/shop/app.js" || line != 21 {
			t.Errorf("asked for %s:%d", f.File, line)
		}
		return false
	})
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
	for i := range p.Samples {
		p.Samples[i].Endpoint = ""
	}
	if p.Inlined(func(*Function, int32) bool { return false }) != Hidden {
		t.Error("no endpoint is known")
	}
}

// fewOf leaves a profile four samples.
func fewOf(p *Profile) *Profile {
	p.Samples = p.Samples[:4]
	return p
}
