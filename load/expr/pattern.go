package expr

import (
	"fmt"
	"regexp"
)

// CompilePattern reads a JavaScript regular expression with its flags, as far
// as RE2 has the same: no look-around, no back-references.
func CompilePattern(src, flags string) (*regexp.Regexp, error) {
	if len(src) > MaxConditionBytes {
		return nil, fmt.Errorf("a pattern longer than %d bytes", MaxConditionBytes)
	}
	inline := ""
	for _, f := range flags {
		switch f {
		case 'i', 'm', 's':
			inline += string(f)
		case 'g', 'u', 'd', 'v':
			// The first match is taken, and text is Unicode, in any case.
		default:
			return nil, fmt.Errorf("the flag %q is not known", f)
		}
	}
	if inline != "" {
		src = "(?" + inline + ")" + src
	}
	rx, err := regexp.Compile(src)
	if err != nil {
		return nil, fmt.Errorf("the pattern is not understood (look-around and back-references are not supported): %w", err)
	}
	return rx, nil
}
