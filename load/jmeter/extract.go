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

// extraction is what extractors of texts have in common.
type extraction struct {
	field  responseField
	name   string
	number int            // which of several matches is taken, from 1; 0: one at random
	other  *expr.Template // the default; nil: there is none
}

// extraction reads it; own are the properties that only this extractor has.
func (j *reader) extraction(e *element, own ...string) extraction {
	p := e.name
	j.refuseOthers(e, append(own, p+".useHeaders", p+".refname", p+".default", p+".default_empty_value", p+".match_number", "Sample.scope")...)
	x := extraction{field: j.responseField(e, p+".useHeaders"), name: strings.TrimSpace(e.value(p + ".refname"))}
	if x.number = int(j.whole(e.tag, p+".match_number", -1, 1e6, 1)); x.number < 0 {
		panic(e.where(p+".match_number").Errorf(whittle.Unsupported, "%s: to take all matches is not supported", e.title()))
	}
	if text := e.value(p + ".default"); text != "" || e.is(p+".default_empty_value") {
		t := j.compile(e.where(p+".default"), text, expr.AsText)
		x.other = &t
	}
	return x
}

// picked gives match number n, from 1; 0 is one at random. False: there is none.
func picked[T any](s *expr.Scope, n int, found []T, text func(T) string) (string, bool) {
	switch {
	case len(found) == 0 || n > len(found):
		return "", false
	case n == 0:
		n = 1 + s.RNG.IntN(len(found))
	}
	return text(found[n-1]), true
}

// responseField is the part of a response that an extractor looks at.
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
	x := j.extraction(e, "RegexExtractor.regex", "RegexExtractor.template")
	pattern := j.fixed(e.tag, "RegexExtractor.regex")
	rx, err := expr.CompilePattern(pattern, "")
	if err != nil {
		panic(e.where("RegexExtractor.regex").Errorf(whittle.Unsupported, "%v", err))
	}
	shape := e.value("RegexExtractor.template")
	if shape == "" {
		shape = "$1$"
	}
	for _, g := range groupWord.FindAllStringSubmatch(shape, -1) {
		if n, err := strconv.Atoi(g[1]); err != nil || n > rx.NumSubexp() {
			panic(e.where("RegexExtractor.template").Invalid("the pattern has no group %s", g[1]))
		}
	}
	find := func(shape string) func(*expr.Response) (string, bool) {
		return func(a *expr.Response) (string, bool) {
			text, limit := x.field.of(a), x.number
			if x.number == 0 {
				limit = expr.MaxMatches
			}
			return picked(a.Scope, x.number, rx.FindAllStringSubmatchIndex(text, limit), func(at []int) string { return expandGroups(shape, text, at) })
		}
	}
	j.addCapture(q, x.name, x.other, x.field.body, find(shape))
	// The groups are variables of their own: name_g0, name_g1 …
	for g := range rx.NumSubexp() + 1 {
		own := x.name + "_g" + strconv.Itoa(g)
		if bytes.Contains(j.raw, []byte("${"+own+"}")) {
			j.addCapture(q, own, nil, x.field.body, find("$"+strconv.Itoa(g)+"$"))
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
	x := j.extraction(e, "BoundaryExtractor.lboundary", "BoundaryExtractor.rboundary")
	left := j.compile(e.where("BoundaryExtractor.lboundary"), e.value("BoundaryExtractor.lboundary"), expr.AsText)
	right := j.compile(e.where("BoundaryExtractor.rboundary"), e.value("BoundaryExtractor.rboundary"), expr.AsText)
	j.addCapture(q, x.name, x.other, x.field.body, func(a *expr.Response) (string, bool) {
		from, to := string(left.Render(nil, a.Scope)), string(right.Render(nil, a.Scope))
		return picked(a.Scope, x.number, between(x.field.of(a), from, to), func(piece string) string { return piece })
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
			return picked(a.Scope, number, path.Find(doc), func(d *expr.Document) string { return d.Value().Text })
		})
	}
}
