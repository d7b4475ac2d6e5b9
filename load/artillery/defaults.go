package artillery

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"whittle/load/expr"
	"whittle/load/plan"
)

// defaults are one of the two places in which a plan sets defaults of its
// requests. The zero value sets none.
type defaults struct {
	headers    []plan.HeaderField
	hasHeaders bool
	cookies    []plan.HeaderField
	hasCookies bool
	lenient    bool
	jitter     time.Duration
	jitterPart float64
	hasThink   bool
}

// headersAdvice is the advice for a header in a place that Artillery's HTTP
// engine does not read.
const headersAdvice = "default headers are read from config.http.defaults.headers"

// defaultsInto reads config.defaults or config.http.defaults. What Artillery
// does not read there is not sent, as it is not by Artillery, and the report
// says so: a key other than the four below, and a list as a whole.
func (r *reader) defaultsInto(d *defaults, place string) func(*node) {
	known := map[string]func(*node){
		"headers": func(n *node) {
			if n.kind == expr.KindNull {
				return // as by Artillery, which takes only a request's own amiss
			}
			d.hasHeaders = true
			d.headers = r.headers(n)
		},
		"cookie": func(n *node) {
			d.hasCookies = true
			r.cookie(&d.cookies, n)
		},
		"strictCapture": func(n *node) {
			strict := true
			boolean(&strict)(n)
			d.lenient = !strict
		},
		"think": func(n *node) {
			d.hasThink = true
			r.fields(n, "think", map[string]func(*node){
				"jitter": func(n *node) { readJitter(n, &d.jitter, &d.jitterPart) },
			})
		},
	}
	return func(n *node) {
		switch n.kind {
		case expr.KindNull:
			return
		case expr.KindList:
			r.ignored(place+", which is a list,", "write it as a mapping; "+headersAdvice)(n)
			return
		}
		read := map[string]func(*node){}
		for _, f := range n.fields {
			if known[f.name] == nil && httpguts.ValidHeaderFieldName(f.name) {
				read[f.name] = r.ignored(place+"."+f.name, fieldNames(known)+"; "+headersAdvice)
			}
		}
		maps.Copy(read, known)
		r.fields(n, "defaults", read)
	}
}

// maxNotes bounds what a plan can put into its report; those beyond are counted.
const maxNotes = 200

// ignored skips what Artillery ignores too, and adds a note to the report.
func (r *reader) ignored(what, advice string) func(*node) {
	return func(n *node) { r.note(n, "%s is left out, as Artillery leaves it out: %s", what, advice) }
}

// note adds a note to the report, with the line of the plan.
func (r *reader) note(n *node, format string, args ...any) {
	text := fmt.Sprintf("line %d: ", n.Line) + fmt.Sprintf(format, args...)
	switch {
	case r.frozen || slices.Contains(r.Plan.Notes, text):
	case len(r.Plan.Notes) < maxNotes:
		r.Plan.Notes = append(r.Plan.Notes, text)
	default:
		r.moreNotes++
	}
}

// fieldNames lists the names of a mapping's fields.
func fieldNames(known map[string]func(*node)) string {
	return "known are " + strings.Join(slices.Sorted(maps.Keys(known)), ", ")
}

// useDefaults settles which defaults hold, as Artillery does: headers, cookies
// and think times of config.http.defaults stand in place of those of
// config.defaults, whole; captures may fail where either says so.
func (r *reader) useDefaults() {
	for _, d := range []*defaults{&r.legacyDefaults, &r.httpDefaults} {
		if d.hasHeaders {
			r.Plan.HTTP.Headers = d.headers
		}
		if d.hasCookies {
			r.cookies = d.cookies
		}
		if d.hasThink {
			r.jitter, r.jitterPart = d.jitter, d.jitterPart
		}
		r.lenient = r.lenient || d.lenient
	}
}
