package collect

import (
	"path/filepath"
	"regexp"
	"slices"

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
	{"Intl", regexp.MustCompile(`(^|[^\w$.])new\s+Intl\.\w+\s*\(|\.toLocale(Date|Time)?String\s*\([^()]*,|\.localeCompare\s*\([^()]*,`)},
	{"JSON.parse", regexp.MustCompile(`(^|[^\w$.])JSON\.parse\s*\(`)},
}

// labelBuiltins puts the built-in functions onto the stacks that were at a line
// of the service's own that calls one.
func (r *routes) labelBuiltins(p *profile.Profile) {
	if p.Kind != profile.CPU {
		return
	}
	at := map[string]int32{}
	for i := range p.Samples {
		s := &p.Samples[i]
		if len(s.Stack) == 0 {
			continue
		}
		leaf := s.Stack[0]
		f := &p.Functions[leaf.Function]
		if f.Owner != profile.Own || leaf.Line < 1 || !filepath.IsAbs(f.File) {
			continue
		}
		lines := r.lines(f.File)
		if int(leaf.Line) > len(lines) || len(lines[leaf.Line-1]) > jscode.MaxLine {
			continue
		}
		b := slices.IndexFunc(builtins, func(b builtin) bool { return b.called.MatchString(lines[leaf.Line-1]) })
		if b < 0 {
			continue
		}
		name := builtins[b].name
		index, ok := at[name]
		if !ok {
			index = int32(len(p.Functions))
			at[name] = index
			p.Functions = append(p.Functions, profile.Function{Name: name, Owner: profile.System, Category: profile.V8Category(name)})
		}
		s.Stack = append([]profile.Frame{{Function: index}}, s.Stack...)
	}
}

// call is what stands before a parenthesis.
var call = regexp.MustCompile(`([\w$.]*[\w$)\]])\s*\(`)

// native are the words before a parenthesis that call no JavaScript: the
// language's own, and objects of V8's own functions, which are native code.
var native = regexp.MustCompile(`^(if|for|while|switch|catch|return|typeof|await|function|` +
	`(Math|JSON|Number|String|Boolean|BigInt|Object|Array|Symbol|Date|RegExp|parseInt|parseFloat|isNaN|isFinite)(\.[\w$]+)?)$`)

// calls says whether a line of a function may call another one of JavaScript's.
// A line that cannot be read may.
func (r *routes) calls(f *profile.Function, line int32) bool {
	if !filepath.IsAbs(f.File) || line < 1 {
		return true
	}
	lines := r.lines(f.File)
	if int(line) > len(lines) {
		return true
	}
	for _, m := range call.FindAllStringSubmatch(lines[line-1], -1) {
		if !native.MatchString(m[1]) {
			return true
		}
	}
	return false
}
