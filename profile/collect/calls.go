package collect

import (
	"path/filepath"
	"regexp"

	"whittle/profile"
)

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
