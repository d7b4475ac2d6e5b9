// Package jsonpath parses the JSON paths of a config, such as $.items[*].price or
// $..etag, and matches them against the position of a value in a document.
package jsonpath

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Hint says how a path is written.
const Hint = `write it like $.items[*].price, $.a[0], $["odd key"], $.byId.* or $..etag`

// stepKind is the kind of one step of a JSON path.
type stepKind uint8

const (
	stepKey      stepKind = iota // .name or ["name"]
	stepIndex                    // [3]
	stepAnyIndex                 // [*]
	stepAnyKey                   // .*
	stepDeep                     // .. : any number of steps
)

type pathStep struct {
	kind  stepKind
	key   string
	index int
}

// Path is a compiled path such as $.items[*].price or $..etag.
type Path []pathStep

const (
	maxPathBytes = 512
	maxPathSteps = 64
	maxPathDeeps = 2 // each multiplies the ways to match
)

// Parse reads a path: "$" followed by .name, ["name"], [3], [*], .* and
// ..name. It names the offset of what is wrong.
func Parse(s string) (Path, error) {
	if len(s) > maxPathBytes {
		return nil, pathError(s[:32], 0, "it is longer than 512 bytes")
	}
	if !strings.HasPrefix(s, "$") {
		return nil, pathError(s, 0, `it must start with "$"`)
	}
	if strings.Count(s, "..") > maxPathDeeps {
		return nil, pathError(s, strings.LastIndex(s, ".."), `it has more than two ".."`)
	}
	var p Path
	for i := 1; i < len(s); {
		steps, next, why := parseStep(s, i)
		if why != "" {
			return nil, pathError(s, i, why)
		}
		if p = append(p, steps...); len(p) > maxPathSteps {
			return nil, pathError(s, i, "it has more than 64 steps")
		}
		i = next
	}
	return p, nil
}

func pathError(s string, at int, why string) error {
	return fmt.Errorf("JSON path %q, byte %d: %s", s, at, why)
}

func parseStep(s string, i int) (steps []pathStep, next int, why string) {
	if s[i] == '[' {
		step, next, why := parseBracket(s, i+1)
		return []pathStep{step}, next, why
	}
	if s[i] != '.' {
		return nil, 0, `"." or "[" must follow`
	}
	i++
	if strings.HasPrefix(s[i:], ".") {
		steps = append(steps, pathStep{kind: stepDeep})
		i++
		if strings.HasPrefix(s[i:], "[") {
			step, next, why := parseBracket(s, i+1)
			return append(steps, step), next, why
		}
	}
	end := i
	for end < len(s) && s[end] != '.' && s[end] != '[' {
		end++
	}
	switch name := s[i:end]; name {
	case "":
		return nil, 0, "a name is missing"
	case "*":
		steps = append(steps, pathStep{kind: stepAnyKey})
	default:
		steps = append(steps, pathStep{kind: stepKey, key: name})
	}
	return steps, end, ""
}

func parseBracket(s string, i int) (step pathStep, next int, why string) {
	if strings.HasPrefix(s[i:], `"`) {
		quoted, err := strconv.QuotedPrefix(s[i:])
		if err != nil || !strings.HasPrefix(s[i+len(quoted):], "]") {
			return step, 0, `the quoted name must end with "]`
		}
		key, err := strconv.Unquote(quoted)
		if err != nil {
			return step, 0, "the quoted name has a wrong escape"
		}
		return pathStep{kind: stepKey, key: key}, i + len(quoted) + 1, ""
	}
	end := strings.IndexByte(s[i:], ']')
	if end < 0 {
		return step, 0, `"]" is missing`
	}
	inner, next := s[i:i+end], i+end+1
	if inner == "*" {
		return pathStep{kind: stepAnyIndex}, next, ""
	}
	n, err := strconv.Atoi(inner)
	if err != nil || n < 0 || n > 1<<30 {
		return step, 0, `an index, * or a quoted name must stand in "[]"`
	}
	return pathStep{kind: stepIndex, index: n}, next, ""
}

// Element is one element of the position of a value: a key, or an index where Key
// is nil.
type Element struct {
	Key   []byte
	Index int
}

// Matches reports whether the path leads exactly to the trail.
func (p Path) Matches(trail []Element) bool {
	for len(p) > 0 {
		if p[0].kind == stepDeep {
			for skip := range len(trail) + 1 {
				if p[1:].Matches(trail[skip:]) {
					return true
				}
			}
			return false
		}
		if len(trail) == 0 || !p[0].is(trail[0]) {
			return false
		}
		p, trail = p[1:], trail[1:]
	}
	return len(trail) == 0
}

// Covers reports whether the path leads to the trail or to an ancestor of it.
func (p Path) Covers(trail []Element) bool {
	for n := range len(trail) + 1 {
		if p.Matches(trail[:n]) {
			return true
		}
	}
	return false
}

func (s pathStep) is(at Element) bool {
	switch s.kind {
	case stepKey:
		return at.Key != nil && string(at.Key) == s.key
	case stepIndex:
		return at.Key == nil && at.Index == s.index
	case stepAnyIndex:
		return at.Key == nil
	}
	return at.Key != nil
}

// AnyMatches reports whether one of the paths leads exactly to the trail.
func AnyMatches(paths []Path, trail []Element) bool {
	return slices.ContainsFunc(paths, func(p Path) bool { return p.Matches(trail) })
}

// AnyCovers reports whether one of the paths leads to the trail or to an ancestor
// of it.
func AnyCovers(paths []Path, trail []Element) bool {
	return slices.ContainsFunc(paths, func(p Path) bool { return p.Covers(trail) })
}
