package artillery

import (
	"fmt"
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
func (r *reader) defaultsInto(d *defaults, place string) func(*node) error {
	known := map[string]func(*node) error{
		"headers": func(n *node) (err error) {
			d.hasHeaders = true
			d.headers, err = r.headers(n)
			return err
		},
		"cookie": func(n *node) error {
			d.hasCookies = true
			return r.cookie(&d.cookies, n)
		},
		"strictCapture": func(n *node) error {
			strict := true
			err := boolean(&strict)(n)
			d.lenient = !strict
			return err
		},
		"think": func(n *node) error {
			d.hasThink = true
			return r.fields(n, "think", map[string]func(*node) error{
				"jitter": func(n *node) error { return readJitter(n, &d.jitter, &d.jitterPart) },
			}, nil)
		},
	}
	return func(n *node) error {
		switch n.kind {
		case expr.KindNull:
			return nil
		case expr.KindList:
			return r.ignored(place+", which is a list,", "write it as a mapping; "+headersAdvice)(n)
		}
		read := map[string]func(*node) error{}
		for _, f := range n.fields {
			if known[f.name] == nil && httpguts.ValidHeaderFieldName(f.name) {
				read[f.name] = r.ignored(place+"."+f.name, fieldNames(known)+"; "+headersAdvice)
			}
		}
		for name, f := range known {
			read[name] = f
		}
		return r.fields(n, "defaults", read, nil)
	}
}

// maxNotes bounds what a plan can put into its report.
const maxNotes = 20

// ignored skips what Artillery ignores too, and adds a note to the report.
func (r *reader) ignored(what, advice string) func(*node) error {
	return func(n *node) error {
		if len(r.Plan.Notes) >= maxNotes {
			return nil // the notes before it show the kind
		}
		r.Plan.Notes = append(r.Plan.Notes, fmt.Sprintf("line %d: %s is left out, as Artillery leaves it out: %s", n.Line, what, advice))
		return nil
	}
}

// fieldNames lists the names of a mapping's fields.
func fieldNames(known map[string]func(*node) error) string {
	names := make([]string, 0, len(known))
	for k := range known {
		names = append(names, k)
	}
	slices.Sort(names)
	return "known are " + strings.Join(names, ", ")
}

// useDefaults settles which defaults hold, as Artillery does: headers, cookies
// and think times of config.http.defaults stand in place of those of
// config.defaults, whole; captures may fail where either says so.
func (r *reader) useDefaults() {
	headers, cookies, think := &r.legacyDefaults, &r.legacyDefaults, &r.legacyDefaults
	if r.httpDefaults.hasHeaders {
		headers = &r.httpDefaults
	}
	if r.httpDefaults.hasCookies {
		cookies = &r.httpDefaults
	}
	if r.httpDefaults.hasThink {
		think = &r.httpDefaults
	}
	r.Plan.HTTP.Headers, r.cookies = headers.headers, cookies.cookies
	r.jitter, r.jitterPart = think.jitter, think.jitterPart
	r.lenient = r.legacyDefaults.lenient || r.httpDefaults.lenient
}
