package collect

import (
	"cmp"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"whittle/internal/jscode"
	"whittle/profile"
)

// builtin is a function of V8's own.
type builtin struct {
	name   string
	called *regexp.Regexp
}

// builtins are V8's own functions that have no frame in its profiles, by how a
// line of source calls them. The first that a line calls is taken.
var builtins = []builtin{
	{"RegExp", regexp.MustCompile(`(^|[^\w$.])RegExp\s*\(`)},
	{"JSON.stringify", regexp.MustCompile(`(^|[^\w$.])JSON\.stringify\s*\(`)},
	{"Atomics.wait", regexp.MustCompile(`(^|[^\w$.])Atomics\.wait\s*\(`)},
	{"Intl", regexp.MustCompile(`(^|[^\w$.])new\s+Intl\.\w+\s*\(|\.toLocale(Date|Time)?String\s*\([^()]*,|\.localeCompare\s*\([^()]*,`)},
	{"JSON.parse", regexp.MustCompile(`(^|[^\w$.])JSON\.parse\s*\(`)},
}

// labelBuiltins puts the built-in functions onto the stacks that were at a line
// of the service's own that calls one.
func (r *routes) labelBuiltins(p *profile.Profile) {
	if p.Kind != profile.CPU {
		return
	}
	type place struct {
		file string
		line int32
	}
	at, names := map[string]int32{}, map[place]string{} // a line is looked at once, and has many samples
	for i := range p.Samples {
		s := &p.Samples[i]
		if len(s.Stack) == 0 {
			continue
		}
		top := 0
		if s.IsWaiting(p) {
			top = 1
		}
		leaf := s.Stack[top]
		f := &p.Functions[leaf.Function]
		if f.Owner != profile.Own || leaf.Line < 1 || !filepath.IsAbs(f.File) {
			continue
		}
		here := place{f.File, leaf.Line}
		name, known := names[here]
		if !known {
			name = builtinAt(r.lines(f.File), int(leaf.Line))
			names[here] = name
		}
		if name == "" {
			continue
		}
		index, ok := at[name]
		if !ok {
			index = p.AddFunction(name, profile.V8Category(name))
			at[name] = index
		}
		s.Stack = slices.Insert(slices.Clone(s.Stack), top, profile.Frame{Function: index})
	}
}

// builtinAt names the function of V8's own that a line calls, from 1. "": none that is
// known.
func builtinAt(lines []string, line int) string {
	if line > len(lines) || len(lines[line-1]) > jscode.MaxLine {
		return ""
	}
	text := lines[line-1]
	if b := slices.IndexFunc(builtins, func(b builtin) bool { return b.called.MatchString(text) }); b >= 0 {
		return builtins[b].name
	}
	if pattern := matchedAt(lines, text); pattern != "" {
		return profile.RegExpOf + pattern
	}
	return ""
}

// literal is a regular expression as it is written, without the flag that changes what
// it means.
const literal = `/((?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+)/[dgimsuy]*`

var (
	// tested is a call that matches a text with an expression that stands there, or
	// that has a name.
	tested = regexp.MustCompile(literal + `\s*\.(?:test|exec)\s*\(|([\w$]+)\s*\.(?:test|exec)\s*\(|` +
		`\.(?:match|matchAll|replace|replaceAll|search|split)\s*\(\s*(?:` + literal + `|(?:[\w$]+\.)*([\w$]+)\s*[,)])`)
	// defined is a name's expression.
	defined = regexp.MustCompile(`([\w$]+)\s*[=:]\s*` + literal + `\s*[;,})]?\s*$`)
	// assigned is anything that a name may be given.
	assigned = regexp.MustCompile(`([\w$]+)\s*(?:=[^=>]|:)`)
)

// matchedAt gives the regular expression that a line matches a text with. "": none, or it
// is not sure which.
func matchedAt(lines []string, line string) string {
	calls := tested.FindAllStringSubmatch(line, 2)
	if len(calls) != 1 {
		return ""
	}
	m := calls[0]
	if pattern := cmp.Or(m[1], m[3]); pattern != "" {
		return pattern
	}
	name, found, times := cmp.Or(m[2], m[4]), "", 0
	for _, text := range lines {
		if len(text) > jscode.MaxLine || !strings.Contains(text, name) {
			continue
		}
		for _, a := range assigned.FindAllStringSubmatch(text, -1) {
			if a[1] == name {
				times++
			}
		}
		if d := defined.FindStringSubmatch(text); d != nil && d[1] == name {
			found = d[2]
		}
	}
	if times != 1 {
		return ""
	}
	return found
}

// matchLine gives the one line of some at which a text is matched with an expression. 0:
// there is none, or several.
func matchLine(lines []string, first, last int, pattern string) int {
	found := 0
	for n := max(first, 1); n <= min(last, len(lines)); n++ {
		if text := lines[n-1]; len(text) > jscode.MaxLine || matchedAt(lines, text) != pattern {
			continue
		}
		if found != 0 {
			return 0
		}
		found = n
	}
	return found
}

// call is what stands before a parenthesis.
var call = regexp.MustCompile(`([\w$.]*[\w$)\]])\s*\(`)

// native are the words before a parenthesis that call no JavaScript: the
// language's own, and objects of V8's own functions, which are native code.
var native = regexp.MustCompile(`^(if|for|while|switch|catch|return|typeof|await|function|` +
	`(Math|JSON|Number|String|Boolean|BigInt|Object|Array|Symbol|Date|RegExp|parseInt|parseFloat|isNaN|isFinite)(\.[\w$]+)?)$`)

// calls says whether a line of a function may call another one of JavaScript's.
// A line that cannot be read may, and one outside of the function is another one's that
// V8 has inlined there.
func (r *routes) calls(f *profile.Function, line int32) bool {
	if !filepath.IsAbs(f.File) || line < 1 {
		return true
	}
	lines := r.lines(f.File)
	if int(line) > len(lines) {
		return true
	}
	if ends := jscode.End(lines, f.Line, f.Column); int(line) < f.Line || ends > 0 && int(line) > ends {
		return true
	}
	return slices.ContainsFunc(call.FindAllStringSubmatch(lines[line-1], -1), func(m []string) bool { return !native.MatchString(m[1]) })
}
