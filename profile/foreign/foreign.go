// Package foreign reads profiles of other tools than Go's and V8's into the one model:
// collapsed stacks (py-spy, async-profiler, stackcollapse), speedscope and the text of
// perf script. All of it is bounded.
package foreign

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"whittle"
	"whittle/profile"
)

// maxTotal bounds the values of all samples together.
const maxTotal = 1 << 60

// perSample is what a sample counts where the file does not say how often the tool
// looked: py-spy and async-profiler do so 100 times a second.
const perSample = 10 * time.Millisecond

// Read reads a saved profile of any of the formats: pprof, V8's two, and those of this
// package, gzipped or not. kind says which of a pprof file's values is meant.
func Read(b []byte, kind profile.Kind) (*profile.Profile, error) {
	if len(b) > profile.MaxBytes {
		return nil, whittle.Errorf(whittle.ResourceExhausted, "read profile: more than %d MiB", profile.MaxBytes>>20).
			WithHint("profile for a shorter time, or sample less often")
	}
	b, err := profile.Gunzip(b)
	if err != nil {
		return nil, whittle.Errorf(whittle.Invalid, "read profile: what is gzipped is cut off, damaged or too large: %w", err).
			WithHint("take it again, and copy it as a whole")
	}
	if err := otherKind(b); err != nil {
		return nil, err
	}
	text := bytes.TrimLeft(bytes.TrimPrefix(b, []byte("\ufeff")), " \t\r\n")
	switch {
	case len(text) > 0 && text[0] == '{':
		var has struct {
			Shared   json.RawMessage `json:"shared"`
			Profiles json.RawMessage `json:"profiles"`
		}
		if json.Unmarshal(text, &has) == nil && has.Shared != nil && has.Profiles != nil {
			return readSpeedscope(text)
		}
		return hinted(profile.Read(b, kind))
	case len(text) == 0:
		return nil, whittle.Errorf(whittle.Invalid, "read profile: the file is empty").
			WithHint("the tool saw nothing: put load on the process, or profile longer")
	case !isText(text):
		p, err := hinted(profile.Read(b, kind))
		if err == nil {
			Attribute(p)
		}
		return p, err
	case isPerf(text):
		return readPerf(text)
	}
	return readCollapsed(text)
}

// Attribute says whose the functions of a pprof profile are that no Go program wrote: none
// of its files is Go's, or none is named and a function has Rust's or C++'s form. Rust, C++
// and Ruby are native code here, and so is what has no file. A Go program's profile stays as
// it is.
func Attribute(p *profile.Profile) {
	others := false
	for i := range p.Functions {
		f := &p.Functions[i]
		if strings.HasSuffix(f.File, ".go") {
			return
		}
		others = others || f.File != "" || strings.Contains(f.Name, "::")
	}
	if !others || p.Runtime != profile.Go {
		return
	}
	for i := range p.Functions {
		f := &p.Functions[i]
		of := ofName(f.Name)
		if f.File != "" && !strings.HasSuffix(f.File, ".java") {
			of = withSource(f.Name, f.File, 0)
		}
		f.Owner, f.Category = of.Owner, of.Category
	}
	p.Runtime = runtimeAmong(p.Functions)
	if p.Runtime == profile.Native {
		byModule(p.Functions)
	}
}

// hinted says what is read, where what was wrong has no hint of its own.
func hinted(p *profile.Profile, err error) (*profile.Profile, error) {
	if coded, ok := errors.AsType[*whittle.Error](err); ok && coded.Hint == "" {
		return nil, coded.WithHint("the file is cut off, or of another kind; " + formats)
	}
	return p, err
}

// isText knows text by its beginning: a binary file has control characters there.
func isText(b []byte) bool {
	for i := 0; i < min(len(b), 4096); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 && len(b)-i >= utf8.UTFMax || unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t' {
			return false
		}
		i += n
	}
	return true
}

// builder makes a profile within the bounds.
type builder struct {
	p     *profile.Profile
	index map[profile.Function]int32
	total int64
}

// frame is a function as a file names it, and the line that it was at.
type frame struct {
	profile.Function
	at int
}

func newBuilder() *builder {
	return &builder{p: &profile.Profile{Kind: profile.CPU}, index: map[profile.Function]int32{}}
}

// add takes in a stack, the leaf first.
func (b *builder) add(stack []frame, value, objects int64, at time.Duration) error {
	if len(stack) == 0 || value <= 0 {
		return nil
	}
	stack = stack[:min(len(stack), profile.MaxDepth)]
	if value > maxTotal-b.total {
		return whittle.Errorf(whittle.ResourceExhausted, "read profile: values of more than %d", int64(maxTotal)).
			WithHint("profile for a shorter time, or sample less often")
	}
	b.total += value
	s := profile.Sample{Value: value, Objects: objects, At: at, Stack: make([]profile.Frame, len(stack))}
	for i, f := range stack {
		n, ok := b.index[f.Function]
		if !ok {
			n = int32(len(b.p.Functions))
			b.index[f.Function] = n
			b.p.Functions = append(b.p.Functions, f.Function)
		}
		s.Stack[i] = profile.Frame{Function: n, Line: int32(min(max(f.at, 0), 1<<30))}
	}
	return b.p.Append(s)
}

// done gives the profile. Where the file knows no times, it took as long as one thread
// takes for all of it.
func (b *builder) done(of string) (*profile.Profile, error) {
	if len(b.p.Samples) == 0 {
		return nil, whittle.Errorf(whittle.Invalid, "read %s: no samples in it", of).
			WithHint("the tool saw nothing: put load on the process, or profile longer")
	}
	b.p.Runtime = runtimeAmong(b.p.Functions)
	if b.p.Runtime == profile.Native {
		byModule(b.p.Functions)
	}
	if b.p.Duration <= 0 && b.p.Kind == profile.CPU {
		b.p.Duration, b.p.Estimated = time.Duration(b.total), true
	}
	return b.p, nil
}

// runtimeAmong is the one that most of the functions with a known one are of.
func runtimeAmong(functions []profile.Function) profile.Runtime {
	n := map[profile.Runtime]int{}
	for i := range functions {
		n[runtimeOf(&functions[i])]++
	}
	best := profile.Native
	for _, r := range []profile.Runtime{profile.Python, profile.Java, profile.Node} {
		if n[r] > n[best] || best == profile.Native && n[r] > 0 && 10*n[r] >= n[best] {
			best = r
		}
	}
	return best
}
