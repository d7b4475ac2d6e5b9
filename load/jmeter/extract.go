package jmeter

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"whittle"
	"whittle/load/expr"
	"whittle/load/plan"
)

// extractors adds to a request what an extractor does. What is not there leaves the
// default or, without one, the variable as it was: in JMeter that is no failure.
func (j *reader) extractors(e *element, q *plan.Request) {
	switch e.name {
	case "RegexExtractor":
		j.regexExtractor(e, q)
	case "BoundaryExtractor":
		j.boundaryExtractor(e, q)
	case "HtmlExtractor":
		j.selectorExtractor(e, q)
	default:
		j.jsonExtractor(e, q)
	}
}

// onResponse adds to a request that something is done with its response, unless an extractor before
// it has ended the looking (Response.Unseen). What is done sets variables itself, so that what
// follows sees them.
func onResponse(q *plan.Request, body bool, do func(*expr.Response)) {
	onAnyResponse(q, body, func(a *expr.Response) {
		if !a.Unseen {
			do(a)
		}
	})
}

// onAnyResponse adds to a request that something is done with its response in any case.
func onAnyResponse(q *plan.Request, body bool, do func(*expr.Response)) {
	q.Captures = append(q.Captures, plan.Capture{Slot: -1, Body: body, Extract: func(a *expr.Response) (expr.Value, bool) {
		do(a)
		return expr.Value{}, true
	}})
}

// extraction is what extractors have in common.
type extraction struct {
	name   string
	number expr.Template  // which of several matches is taken, from 1; 0: one at random; −1: all
	other  *expr.Template // the default; nil: there is none
}

// extraction reads it from an element's properties. own are the further ones that it has.
func (j *reader) extraction(e *element, own ...string) extraction {
	name, number, other, empty := e.name+".refname", e.name+".match_number", e.name+".default", e.name+".default_empty_value"
	j.refuseOthers(e, append(own, name, number, other, empty, "Sample.scope")...)
	x := extraction{name: strings.TrimSpace(e.value(name))}
	x.number = j.compile(e.where(number), cmp.Or(strings.TrimSpace(e.value(number)), "0"), expr.AsText)
	if text := e.value(other); text != "" || e.is(empty) {
		t := j.compile(e.where(other), text, expr.AsText)
		x.other = &t
	}
	return x
}

// setOther sets the variable to the default, where there is one.
func (j *reader) setOther(x *extraction, s *expr.Scope) {
	if x.other != nil {
		j.assign(s, x.name, x.other.Text(s))
	}
}

// store sets the variables of a pattern, boundaries or a selector to what was found: the
// one of that number, or with a negative one all, as a list. Of what an earlier extraction
// has left nothing stays but the value. groups are those of each text; nil: there are none.
func (j *reader) store(x *extraction, s *expr.Scope, found []string, groups [][]*string) {
	n := int(renderInt(x.number, s))
	j.setOther(x, s)
	j.forgetList(s, x.name)
	j.forgetGroups(s, x.name)
	if n < 0 {
		j.assignAll(s, x.name, found)
		for i := range groups {
			j.assignGroups(s, listed(x.name, i+1), groups[i])
		}
		return
	}
	if n == 0 && len(found) > 0 {
		n = 1 + s.RNG.IntN(len(found))
	}
	if n == 0 || n > len(found) {
		return
	}
	j.assign(s, x.name, found[n-1])
	if n <= len(groups) {
		j.assignGroups(s, x.name, groups[n-1])
	}
}

// storeValues sets the variables of a path in JSON. counts says that a list's length is
// known also where one of it is taken at random.
func (j *reader) storeValues(x *extraction, s *expr.Scope, found []string, counts bool) {
	n := int(renderInt(x.number, s))
	length := strconv.Itoa(len(found))
	switch {
	case len(found) == 0:
		j.setOther(x, s)
	case n < 0:
		j.assignAll(s, x.name, found)
		return
	case n == 0:
		j.assign(s, x.name, found[s.RNG.IntN(len(found))])
		if !counts {
			return
		}
	case len(found) == 1:
		j.assign(s, x.name, found[0]) // whatever its number
	case n > len(found):
		j.setOther(x, s)
	default:
		j.assign(s, x.name, found[n-1])
	}
	j.assign(s, x.name+matchNumber, length)
}

// matchNumber is how the variable ends that has the length of a list.
const matchNumber = "_matchNr"

// listed is the nth of a list, from 1.
func listed(name string, n int) string { return name + "_" + strconv.Itoa(n) }

// forgetList removes the list that an earlier extraction has left.
func (j *reader) forgetList(s *expr.Scope, name string) {
	j.remove(s, name+matchNumber)
	for i := 1; i <= expr.MaxMatches; i++ {
		of := listed(name, i)
		if _, ok := j.value(s, of); !ok {
			return
		}
		j.remove(s, of)
		j.forgetGroups(s, of)
	}
}

// assignGroups sets the variables of one match's groups.
func (j *reader) assignGroups(s *expr.Scope, name string, groups []*string) {
	for g, text := range groups {
		if text == nil {
			j.remove(s, name+"_g"+strconv.Itoa(g))
			continue
		}
		j.assign(s, name+"_g"+strconv.Itoa(g), *text)
	}
	j.assign(s, name+"_g", strconv.Itoa(len(groups)-1))
}

// forgetGroups removes those of an earlier match.
func (j *reader) forgetGroups(s *expr.Scope, name string) {
	text, ok := j.value(s, name+"_g")
	if !ok {
		return
	}
	n, _ := strconv.Atoi(text)
	j.remove(s, name+"_g")
	for g := 0; g <= min(n, expr.MaxMatches); g++ {
		j.remove(s, name+"_g"+strconv.Itoa(g))
	}
}

// source is what an extractor looks at: a part of the response, or a variable.
func (j *reader) source(e *element, useHeaders string) responseField {
	if e.value("Sample.scope") == "variable" {
		name := strings.TrimSpace(e.value("Scope.variable"))
		return responseField{of: func(a *expr.Response) string { text, _ := j.value(a.Scope, name); return text }}
	}
	if scope := e.value("Sample.scope"); scope != "" && scope != "all" && scope != "parent" {
		panic(e.where("Sample.scope").Errorf(whittle.Unsupported, "%s: to look at %s is not supported", e.title(), scope))
	}
	fields := map[string]string{
		"": "response_data", "false": "response_data", "true": "response_headers", "code": "response_code", "message": "response_message",
		"URL": "sample_url", "unescaped": "unescaped",
	}
	field, ok := responseFields[fields[e.value(useHeaders)]]
	if !ok {
		panic(e.where(useHeaders).Errorf(whittle.Unsupported, "%s: to look at %s is not supported", e.title(), e.value(useHeaders)))
	}
	if field.url {
		j.looksAtURL = append(j.looksAtURL, e.title())
	}
	return field
}

// groupWord is a group in an extractor's template.
var groupWord = regexp.MustCompile(`\$(\d+)\$`)

func (j *reader) regexExtractor(e *element, q *plan.Request) {
	x := j.extraction(e, "RegexExtractor.regex", "RegexExtractor.template", "RegexExtractor.useHeaders", "Scope.variable")
	field := j.source(e, "RegexExtractor.useHeaders")
	pattern := j.pattern(e.where("RegexExtractor.regex"), j.text(e, "RegexExtractor.regex"), "", false)
	shape := e.value("RegexExtractor.template")
	onResponse(q, field.body, func(a *expr.Response) {
		rx, ok := pattern(a.Scope)
		if !ok {
			j.setOther(&x, a.Scope)
			return
		}
		text := field.of(a)
		var found []string
		var groups [][]*string
		for _, at := range rx.FindAll(text, expr.MaxMatches) {
			var own []*string
			for g := range rx.Groups() + 1 {
				own = append(own, groupOf(text, at, g))
			}
			groups = append(groups, own)
			found = append(found, expandGroups(shape, text, at))
		}
		j.store(&x, a.Scope, found, groups)
	})
}

// varying compiles what a template comes to: at once where that is known, else each text of
// the run's once. refuse says of a text that is known why it is not supported. False: what
// the template comes to cannot be compiled.
func varying[T any](t expr.Template, compile func(string) (T, error), refuse func(text string, err error) error) func(*expr.Scope) (T, bool) {
	if fixed, ok := t.Constant(); ok {
		v, err := compile(fixed)
		if err != nil {
			panic(refuse(fixed, err))
		}
		return func(*expr.Scope) (T, bool) { return v, true }
	}
	type result struct {
		value T
		err   error
	}
	var known byText[result]
	return func(s *expr.Scope) (T, bool) {
		r := known.of(t.Text(s), func(text string) (r result) {
			r.value, r.err = compile(text)
			return r
		})
		return r.value, r.err == nil
	}
}

// pattern compiles a regular expression, which may have variables in it. whole says that it
// is to be all of a text.
func (j *reader) pattern(at plan.Position, t expr.Template, flags string, whole bool) func(*expr.Scope) (*expr.Pattern, bool) {
	return varying(t, func(text string) (*expr.Pattern, error) {
		if looksBehind.MatchString(text) {
			return nil, whittle.Errorf(whittle.Unsupported, "the pattern %.60q looks behind, which JMeter's engine cannot", text)
		}
		text = javaPattern(text)
		if whole {
			text = `^(?:` + text + `)\z`
		}
		return expr.CompileAnyPattern(text, flags)
	}, func(_ string, err error) error { return at.Errorf(whittle.Unsupported, "%v", err) })
}

// looksBehind finds look-behind, which JMeter's engine does not have.
var looksBehind = regexp.MustCompile(`\(\?<[=!]`)

// javaPattern is a pattern of JMeter's as RE2 reads it: what Java allows to be escaped
// without need is written plainly.
func javaPattern(text string) string {
	return backslash.ReplaceAllStringFunc(text, func(escape string) string {
		if strings.Contains("/\"'<>=:;,@#%&!~ `XyYgGhHijJlLmMoOqRTUVI", escape[1:]) {
			return escape[1:]
		}
		return escape
	})
}

// groupOf is a group of a match; nil: it took no part in it, or there is none.
func groupOf(text string, at []int, n int) *string {
	if 2*n+1 >= len(at) || at[2*n] < 0 {
		return nil
	}
	return new(text[at[2*n]:at[2*n+1]])
}

// expandGroups writes an extractor's template with the groups of one match; for one that
// is not there Java writes null.
func expandGroups(shape, text string, at []int) string {
	return groupWord.ReplaceAllStringFunc(shape, func(g string) string {
		n, err := strconv.Atoi(strings.Trim(g, "$"))
		group := groupOf(text, at, n)
		if err != nil || group == nil {
			return "null"
		}
		return *group
	})
}

func (j *reader) boundaryExtractor(e *element, q *plan.Request) {
	x := j.extraction(e, "BoundaryExtractor.lboundary", "BoundaryExtractor.rboundary", "BoundaryExtractor.useHeaders", "Scope.variable")
	field := j.source(e, "BoundaryExtractor.useHeaders")
	left, right := j.text(e, "BoundaryExtractor.lboundary"), j.text(e, "BoundaryExtractor.rboundary")
	onResponse(q, field.body, func(a *expr.Response) {
		j.store(&x, a.Scope, between(field.of(a), left.Text(a.Scope), right.Text(a.Scope)), nil)
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

// selectorExtractor takes texts or attributes of what a CSS selector selects.
func (j *reader) selectorExtractor(e *element, q *plan.Request) {
	x := j.extraction(e, "HtmlExtractor.expr", "HtmlExtractor.attribute", "HtmlExtractor.extractor_impl")
	_ = j.source(e, "")
	at, attribute := e.where("HtmlExtractor.expr"), j.fixed(e.tag, "HtmlExtractor.attribute")
	selector := varying(j.text(e, "HtmlExtractor.expr"), func(text string) (func(*expr.Response) []string, error) {
		return expr.CompileSelectorList(strings.TrimSpace(text), attribute)
	}, func(_ string, err error) error {
		return at.Errorf(whittle.Unsupported, "the selector is not understood: %v", err)
	})
	onResponse(q, true, func(a *expr.Response) {
		var found []string
		if find, ok := selector(a.Scope); ok {
			found = find(a)
		}
		j.store(&x, a.Scope, found, nil)
	})
}

// jsonTexts lists what a path leads to, as texts; of null other.
func jsonTexts(doc *expr.Document, path expr.JSONPath, other string) (out []string) {
	if doc == nil {
		return nil
	}
	for _, d := range path.Find(doc) {
		if d.Kind == expr.KindNull {
			out = append(out, other)
			continue
		}
		out = append(out, valueText(d))
	}
	return out
}

// valueText is a value as JMeter's libraries write it: a fraction as Java does.
func valueText(d *expr.Document) string {
	text := d.Value().Text
	if d.Kind != expr.KindNumber || len(text) > 18 || !strings.ContainsAny(text, ".eE") {
		return text
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return text
	}
	return javaDouble(f)
}

// javaDouble writes a number as Java's Double.toString.
func javaDouble(f float64) string {
	if a := math.Abs(f); a == 0 || a >= 1e-3 && a < 1e7 {
		s := strconv.FormatFloat(f, 'f', -1, 64)
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		return s
	}
	digits, power, _ := strings.Cut(strconv.FormatFloat(f, 'E', -1, 64), "E")
	if !strings.Contains(digits, ".") {
		digits += ".0"
	}
	n, _ := strconv.Atoi(power)
	return digits + "E" + strconv.Itoa(n)
}

// jsonExtractor takes several variables, each by a JSONPath.
func (j *reader) jsonExtractor(e *element, q *plan.Request) {
	j.refuseOthers(e, "JSONPostProcessor.referenceNames", "JSONPostProcessor.jsonPathExprs", "JSONPostProcessor.match_numbers",
		"JSONPostProcessor.defaultValues", "JSONPostProcessor.compute_concat", "JSONPostProcessor.computeConcat", "Sample.scope", "Scope.variable")
	field := j.source(e, "useHeaders")
	split := func(name string) []string { return splitLikeJava(e.value("JSONPostProcessor." + name)) }
	names, paths, numbers, others := split("referenceNames"), split("jsonPathExprs"), split("match_numbers"), split("defaultValues")
	if len(names) != len(paths) || len(names) != len(others) {
		panic(e.at.Errorf(whittle.Unsupported, "%s has %d names, %d paths and %d defaults, by which JMeter sets nothing: give as many of each", e.title(), len(names), len(paths), len(others)))
	}
	var all []extraction
	for i, name := range names {
		other := j.compile(e.where("JSONPostProcessor.defaultValues"), others[i], expr.AsText)
		x := extraction{name: strings.TrimSpace(name), number: expr.Template(nil).Literal("0"), other: &other}
		if i < len(numbers) && numbers[i] != "" {
			x.number = j.compile(e.where("JSONPostProcessor.match_numbers"), strings.TrimSpace(numbers[i]), expr.AsText)
		}
		if n, ok := x.number.Constant(); ok && !isWhole(n) {
			panic(e.where("JSONPostProcessor.match_numbers").Errorf(whittle.Unsupported, "%s has a match number that is none, by which JMeter sets nothing: %q", e.title(), n))
		}
		all = append(all, x)
	}
	onResponse(q, false, func(a *expr.Response) { // before any variable is set
		a.Unseen = slices.ContainsFunc(all, func(x extraction) bool { return !isWhole(x.number.Text(a.Scope)) })
	})
	at, concat := e.where("JSONPostProcessor.jsonPathExprs"), e.is("JSONPostProcessor.compute_concat") || e.is("JSONPostProcessor.computeConcat")
	for i := range all {
		x, text := &all[i], strings.TrimSpace(paths[i])
		if calledAtEnd.MatchString(text) {
			panic(at.Errorf(whittle.Unsupported, "the JSONPath %s is not supported: an extractor of JMeter finds nothing by a function", text))
		}
		path := j.jsonPath(at, text)
		onResponse(q, true, func(a *expr.Response) {
			j.forgetList(a.Scope, x.name)
			text := field.of(a)
			by, ok := path(a.Scope)
			if text == "" || !ok {
				j.setOther(x, a.Scope)
				return
			}
			doc := a.JSON()
			if e.value("Sample.scope") == "variable" || !field.body {
				doc, _ = expr.ParseDocument(text)
			}
			found := jsonTexts(doc, by, x.other.Text(a.Scope))
			if concat && renderInt(x.number, a.Scope) < 0 {
				j.assign(a.Scope, x.name+"_ALL", strings.Join(found, ","))
			}
			j.storeValues(x, a.Scope, found, false)
		})
	}
}

// isWhole reports whether a text is a whole number to Java.
func isWhole(text string) bool {
	_, err := strconv.ParseInt(text, 10, 32)
	return err == nil
}

// splitLikeJava splits a text at its semicolons, without the empty pieces at the end.
func splitLikeJava(text string) []string {
	if text == "" {
		return []string{""}
	}
	out := strings.Split(text, ";")
	for len(out) > 0 && out[len(out)-1] == "" {
		out = out[:len(out)-1]
	}
	return out
}

// noSuchPath is a JSONPath that finds nothing.
const noSuchPath = "$.whittle_no_such_path"

// rootedPath is a JSONPath as JMeter's library reads it, which puts "$." before one that
// does not begin at the root: so ".id" finds at any depth, and "..id" is no path.
func rootedPath(text string) string {
	switch {
	case text == "" || text[0] == '$':
		return text
	case text[0] == '@':
		return "$" + text[1:]
	case strings.HasPrefix(text, ".."):
		return noSuchPath
	}
	return "$." + text
}

// severalNames finds several names in brackets.
var severalNames = regexp.MustCompile(`\[\s*(?:'[^']*'|"[^"]*")\s*,`)

// calledAtEnd finds a function at a path's end. With one, JMeter's extractor finds nothing.
var calledAtEnd = regexp.MustCompile(`\.[A-Za-z]+\([^()\[\]]*\)$`)

// jsonPath compiles a JSONPath, which may have variables in it. False: what they come to
// is none.
func (j *reader) jsonPath(at plan.Position, text string) func(*expr.Scope) (expr.JSONPath, bool) {
	t := j.compile(at, text, expr.AsText)
	if fixed, ok := t.Constant(); ok && severalNames.MatchString(fixed) {
		panic(at.Errorf(whittle.Unsupported, "the JSONPath %s is not supported: of several names in brackets JMeter makes one object", fixed))
	}
	return varying(t, func(text string) (expr.JSONPath, error) {
		return expr.CompileMemberPath(rootedPath(strings.TrimSpace(text)))
	}, func(text string, err error) error {
		return at.Errorf(whittle.Unsupported, "the JSONPath %s is not understood: %v", text, err)
	})
}
