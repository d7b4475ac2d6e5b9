package jmeter

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"

	"whittle"
	"whittle/load/expr"
	"whittle/load/plan"
)

// extractors adds to a request the captures of an extractor. What is
// not there leaves the default or, without one, the variable as it was: in
// JMeter that is no failure.
func (j *reader) extractors(e *element, q *plan.Request) {
	switch e.name {
	case "RegexExtractor":
		j.regexExtractor(e, q)
	case "BoundaryExtractor":
		j.boundaryExtractor(e, q)
	default:
		j.jsonExtractor(e, q)
	}
}

// addCapture adds a capture with its default.
func (j *reader) addCapture(q *plan.Request, name string, other *expr.Template, body bool, find func(*expr.Response) (string, bool)) {
	slot := j.Define(name)
	q.Captures = append(q.Captures, plan.Capture{Slot: slot, Body: body, Extract: func(a *expr.Response) (expr.Value, bool) {
		if text, ok := find(a); ok {
			return expr.TextValue(text[:min(len(text), expr.MaxCaptured)]), true
		}
		if other != nil {
			return expr.TextValue(string(other.Render(nil, a.Scope))), true
		}
		return a.Scope.Values[slot], true
	}})
}

// defaultValue reads an extractor's default. Nil: it has none.
func (j *reader) defaultValue(e *element, prefix string) *expr.Template {
	text := e.value(prefix + ".default")
	if text == "" && !e.is(prefix+".default_empty_value") {
		return nil
	}
	t := j.compile(e.where(prefix+".default"), text, expr.AsText)
	return &t
}

// matchNumber is which of several matches is taken, from 1; 0: one at random.
func (j *reader) matchNumber(e *element, name string) int {
	n := j.whole(e.tag, name, -1, 1e6, 1)
	if n < 0 {
		panic(e.where(name).Errorf(whittle.Unsupported, "%s: to take all matches is not supported", e.title()))
	}
	return int(n)
}

// matchIndex is the index of match number n of so many; −1 where there is none.
func matchIndex(s *expr.Scope, n, found int) int {
	switch {
	case found == 0:
		return -1
	case n == 0:
		return s.RNG.IntN(found)
	case n > found:
		return -1
	}
	return n - 1
}

// source is the part of a response that an extractor looks at.
func (j *reader) responseField(e *element, name string) responseField {
	fields := map[string]string{"": "response_data", "false": "response_data", "true": "response_headers", "code": "response_code"}
	field, ok := fields[e.value(name)]
	if !ok {
		panic(e.where(name).Errorf(whittle.Unsupported, "%s: to look at %s is not supported", e.title(), e.value(name)))
	}
	if scope := e.value("Sample.scope"); scope != "" && scope != "all" {
		panic(e.where("Sample.scope").Errorf(whittle.Unsupported, "%s: to look at %s is not supported", e.title(), scope))
	}
	return responseFields[field]
}

// groupWord is a group in an extractor's template.
var groupWord = regexp.MustCompile(`\$(\d+)\$`)

func (j *reader) regexExtractor(e *element, q *plan.Request) {
	j.refuseOthers(e, "RegexExtractor.useHeaders", "RegexExtractor.refname", "RegexExtractor.regex", "RegexExtractor.template",
		"RegexExtractor.default", "RegexExtractor.default_empty_value", "RegexExtractor.match_number", "Sample.scope")
	field := j.responseField(e, "RegexExtractor.useHeaders")
	pattern := j.fixed(e.tag, "RegexExtractor.regex")
	rx, err := expr.CompilePattern(pattern, "")
	if err != nil {
		panic(e.where("RegexExtractor.regex").Errorf(whittle.Unsupported, "%v", err))
	}
	number := j.matchNumber(e, "RegexExtractor.match_number")
	other := j.defaultValue(e, "RegexExtractor")
	shape := e.value("RegexExtractor.template")
	if shape == "" {
		shape = "$1$"
	}
	name := strings.TrimSpace(e.value("RegexExtractor.refname"))
	for _, g := range groupWord.FindAllStringSubmatch(shape, -1) {
		if n, err := strconv.Atoi(g[1]); err != nil || n > rx.NumSubexp() {
			panic(e.where("RegexExtractor.template").Invalid("the pattern has no group %s", g[1]))
		}
	}
	find := func(shape string) func(*expr.Response) (string, bool) {
		return func(a *expr.Response) (string, bool) {
			text := field.of(a)
			limit := number
			if number == 0 {
				limit = expr.MaxMatches
			}
			found := rx.FindAllStringSubmatchIndex(text, limit)
			i := matchIndex(a.Scope, number, len(found))
			if i < 0 {
				return "", false
			}
			return expandGroups(shape, text, found[i]), true
		}
	}
	j.addCapture(q, name, other, field.body, find(shape))
	// The groups are variables of their own: name_g0, name_g1 …
	for g := range rx.NumSubexp() + 1 {
		own := name + "_g" + strconv.Itoa(g)
		if bytes.Contains(j.raw, []byte("${"+own+"}")) {
			j.addCapture(q, own, nil, field.body, find("$"+strconv.Itoa(g)+"$"))
		}
	}
}

// expandGroups writes an extractor's template with the groups of one match.
func expandGroups(shape, text string, at []int) string {
	return groupWord.ReplaceAllStringFunc(shape, func(g string) string {
		n, err := strconv.Atoi(strings.Trim(g, "$"))
		if err != nil || 2*n+1 >= len(at) || at[2*n] < 0 {
			return ""
		}
		return text[at[2*n]:at[2*n+1]]
	})
}

func (j *reader) boundaryExtractor(e *element, q *plan.Request) {
	j.refuseOthers(e, "BoundaryExtractor.useHeaders", "BoundaryExtractor.refname", "BoundaryExtractor.lboundary", "BoundaryExtractor.rboundary",
		"BoundaryExtractor.default", "BoundaryExtractor.default_empty_value", "BoundaryExtractor.match_number", "Sample.scope")
	field := j.responseField(e, "BoundaryExtractor.useHeaders")
	number := j.matchNumber(e, "BoundaryExtractor.match_number")
	other := j.defaultValue(e, "BoundaryExtractor")
	left := j.compile(e.where("BoundaryExtractor.lboundary"), e.value("BoundaryExtractor.lboundary"), expr.AsText)
	right := j.compile(e.where("BoundaryExtractor.rboundary"), e.value("BoundaryExtractor.rboundary"), expr.AsText)
	j.addCapture(q, strings.TrimSpace(e.value("BoundaryExtractor.refname")), other, field.body, func(a *expr.Response) (string, bool) {
		from, to := string(left.Render(nil, a.Scope)), string(right.Render(nil, a.Scope))
		found := between(field.of(a), from, to)
		i := matchIndex(a.Scope, number, len(found))
		if i < 0 {
			return "", false
		}
		return found[i], true
	})
}

// between lists the pieces of a text that stand between two boundaries; an
// empty one is the text's own beginning or end.
func between(text, from, to string) []string {
	var out []string
	for len(out) < expr.MaxMatches {
		_, rest, ok := strings.Cut(text, from)
		if !ok {
			break
		}
		piece, after, ok := rest, "", true
		if to != "" {
			piece, after, ok = strings.Cut(rest, to)
		}
		if !ok {
			break
		}
		out = append(out, piece)
		if text = after; from == "" || text == "" {
			break
		}
	}
	return out
}

// jsonExtractor takes several variables, each by a JSONPath.
func (j *reader) jsonExtractor(e *element, q *plan.Request) {
	j.refuseOthers(e, "JSONPostProcessor.referenceNames", "JSONPostProcessor.jsonPathExprs", "JSONPostProcessor.match_numbers",
		"JSONPostProcessor.defaultValues", "Sample.scope")
	_ = j.responseField(e, "useHeaders")
	split := func(name string) []string { return strings.Split(e.value("JSONPostProcessor."+name), ";") }
	names, paths, numbers, others := split("referenceNames"), split("jsonPathExprs"), split("match_numbers"), split("defaultValues")
	if len(names) != len(paths) {
		panic(e.at.Invalid("%s: %d variables and %d paths", e.title(), len(names), len(paths)))
	}
	for i, name := range names {
		path, err := expr.CompilePath(strings.TrimSpace(paths[i]))
		if err != nil {
			panic(e.where("JSONPostProcessor.jsonPathExprs").Invalid("the JSONPath %s is not understood: %v", paths[i], err))
		}
		number := 0
		if i < len(numbers) && strings.TrimSpace(numbers[i]) != "" {
			if number, err = strconv.Atoi(strings.TrimSpace(numbers[i])); err != nil || number < 0 {
				panic(e.where("JSONPostProcessor.match_numbers").Errorf(whittle.Unsupported, "the match number %s is not supported", numbers[i]))
			}
		}
		var other expr.Template
		if i < len(others) {
			other = j.compile(e.where("JSONPostProcessor.defaultValues"), others[i], expr.AsText)
		}
		j.addCapture(q, strings.TrimSpace(name), &other, true, func(a *expr.Response) (string, bool) {
			doc := a.JSON()
			if doc == nil {
				return "", false
			}
			found := path.Find(doc)
			at := matchIndex(a.Scope, number, len(found))
			if at < 0 {
				return "", false
			}
			return found[at].Value().Text, true
		})
	}
}
