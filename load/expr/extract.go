package expr

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// Extractor finds a value. False: it is not there.
type Extractor func(*Response) (Value, bool)

// Extraction describes the expression of a capture.
type Extraction struct {
	From string // json, xpath, regexp, header, or selector
	// Group and flags are a regexp's: a group's number or name, empty for the
	// whole match, and JavaScript's flags.
	Group, Flags string
	// Attr is the attribute that a selector takes, empty for the text; index is
	// a number from 0, last or random, empty for the first.
	Attr, Index string
}

// CompileExtractor reads an expression.
func CompileExtractor(x Extraction, expr string) (Extractor, error) {
	switch x.From {
	case "json":
		path, err := CompilePath(expr)
		return func(a *Response) (Value, bool) { return path.pick(a) }, err
	case "header":
		return func(a *Response) (Value, bool) {
			v := a.Header(expr)
			return TextValue(v), v != ""
		}, nil
	case "regexp":
		return compileRegexp(expr, x.Flags, x.Group)
	case "xpath":
		return compileXPath(expr)
	}
	return compileSelector(expr, x.Attr, x.Index)
}

func compileRegexp(expr, flags, group string) (Extractor, error) {
	rx, err := CompilePattern(expr, flags)
	if err != nil {
		return compileBacktracking(expr, flags, group, err)
	}
	taken, err := groupOf(rx, group)
	return func(a *Response) (Value, bool) {
		text, whole := a.BodyText()
		if !whole {
			return Value{}, false
		}
		at := rx.FindStringSubmatchIndex(text)
		if at == nil || at[2*taken] < 0 {
			return Value{}, false
		}
		return capturedText(text[at[2*taken]:at[2*taken+1]])
	}, err
}

// maxMatchTime bounds a match of a pattern that backtracks. One that takes longer has not
// found anything.
const maxMatchTime = time.Second

// compileBacktracking compiles a pattern that RE2 has not, such as one with look-around.
// The error is why RE2 has not, where it is no pattern at all.
func compileBacktracking(expr, flags, group string, why error) (Extractor, error) {
	rx, ok := backtracking(expr, flags)
	if !ok {
		return nil, why
	}
	taken := 0
	if n, err := strconv.Atoi(group); err == nil {
		taken = n
	} else if group != "" {
		taken = rx.GroupNumberFromName(group)
	}
	if !slices.Contains(rx.GetGroupNumbers(), taken) {
		return nil, fmt.Errorf("the pattern has no group %s", group)
	}
	return func(a *Response) (Value, bool) {
		text, whole := a.BodyText()
		if !whole {
			return Value{}, false
		}
		m, err := rx.FindStringMatch(text)
		if err != nil || m == nil {
			return Value{}, false
		}
		return capturedText(m.GroupByNumber(taken).String())
	}, nil
}

// groupOf finds a group by number or by name; none is the whole match.
func groupOf(rx *regexp.Regexp, group string) (int, error) {
	if group == "" {
		return 0, nil
	}
	if i, err := strconv.Atoi(group); err == nil && i >= 0 && i <= rx.NumSubexp() {
		return i, nil
	}
	if i := slices.Index(rx.SubexpNames(), group); i > 0 {
		return i, nil
	}
	return 0, fmt.Errorf("the pattern has no group %s", group)
}

// capturedText makes a value of a piece of a body, which it does not keep
// alive. An empty one counts as absent, as in Artillery.
func capturedText(s string) (Value, bool) {
	if s == "" || len(s) > MaxCaptured {
		return Value{}, false
	}
	return TextValue(string([]byte(s))), true
}

// pick gives what the path leads to, one at random of several, as Artillery
// does.
func (p JSONPath) pick(a *Response) (Value, bool) {
	doc := a.JSON()
	if doc == nil || doc.Kind != KindList && doc.Kind != KindMap {
		return Value{}, false
	}
	found := p.Find(doc)
	if len(found) == 0 {
		return Value{}, false
	}
	d := found[0]
	if len(found) > 1 {
		d = found[a.Scope.RNG.IntN(len(found))]
	}
	if len(d.raw) > MaxCaptured {
		return Value{}, false
	}
	v := d.copied()
	return v, v.Text != "" || d.Kind != KindString
}
