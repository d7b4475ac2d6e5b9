package expr

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Bounds on a JSONPath and on what it finds.
const (
	maxPathBytes = 1024
	MaxMatches   = 10_000
	maxVisited   = 1_000_000
)

// JSONPath is a compiled JSONPath: RFC 9535 with the two habits of
// jsonpath-plus that plans use, `.length` of a list and `[(@.length-1)]`.
type JSONPath []pathStep

// pathStep takes each value so far to what its selectors find in it, or, with
// descend, in it and everything below it.
type pathStep struct {
	descend   bool
	selectors []pathSelector
}

// pathSelector finds children: yield is called for each, in their order.
type pathSelector func(d *Document, yield func(*Document))

// CompilePath reads a JSONPath. A leading "$" may be missing, as in
// Artillery.
func CompilePath(src string) (JSONPath, error) { return compilePath(src, dialectPath) }

// CompileMemberPath reads a JSONPath as JMeter's library does: .length is a member as any
// other, filters keep the types of what they compare, and names in brackets have quotes.
func CompileMemberPath(src string) (JSONPath, error) { return compilePath(src, dialectMember) }

func compilePath(src string, d dialect) (JSONPath, error) {
	if len(src) > maxPathBytes {
		return nil, fmt.Errorf("longer than %d bytes", maxPathBytes)
	}
	text := strings.TrimSpace(src)
	if text == "" {
		return nil, fmt.Errorf("it is empty")
	}
	switch {
	case text[0] == '$':
		text = text[1:]
	case text[0] != '.' && text[0] != '[':
		text = "." + text
	}
	p := pathParser{text: text, dialect: d}
	path, err := p.path()
	if err != nil {
		return nil, fmt.Errorf("at %q: %w", p.text[p.at:], err)
	}
	return path, nil
}

type pathParser struct {
	text    string
	at      int
	dialect dialect
}

// named is what a name selects.
func (p *pathParser) named(name string) pathSelector {
	find := func(d *Document) *Document { return d.Walk([]string{name}) }
	if p.dialect == dialectMember {
		find = func(d *Document) *Document { return d.get(name) }
	}
	return func(d *Document, yield func(*Document)) {
		if c := find(d); c != nil {
			yield(c)
		}
	}
}

func (p *pathParser) path() (steps JSONPath, err error) {
	defer caught(&err)
	for p.at < len(p.text) {
		steps = append(steps, p.step())
	}
	return steps, nil
}

func (p *pathParser) peek(s string) bool { return strings.HasPrefix(p.text[p.at:], s) }

func (p *pathParser) step() (s pathStep) {
	dotted := false
	switch {
	case p.peek(".."):
		s.descend, dotted = true, true
		p.at += 2
	case p.peek("."):
		dotted = true
		p.at++
	}
	switch {
	case p.peek("["):
		s.selectors = p.selectors(p.bracket())
		return s
	case !dotted:
		fail("a . or [ is wanted")
	case p.peek("*"):
		p.at++
		s.selectors = []pathSelector{allChildren}
		return s
	}
	end := strings.IndexAny(p.text[p.at:], ".[]()*'\"?,:@^~` ")
	if end < 0 {
		end = len(p.text) - p.at
	}
	if end == 0 {
		fail("a name is wanted")
	}
	s.selectors = []pathSelector{p.named(p.text[p.at : p.at+end])}
	p.at += end
	return s
}

// bracket returns what is between [ and its matching ], with regard to quotes and
// nested brackets.
func (p *pathParser) bracket() string {
	begin, depth := p.at+1, 0
	for i := p.at; i < len(p.text); i++ {
		switch c := p.text[i]; c {
		case '\'', '"':
			n := QuotedLength(p.text[i:])
			if n == 0 {
				fail("a text without its end")
			}
			i += n - 1
		case '[', '(':
			depth++
		case ']', ')':
			if depth--; depth == 0 {
				p.at = i + 1
				return strings.TrimSpace(p.text[begin:i])
			}
		}
	}
	panic(mistake{errors.New("[ without ]")})
}

// QuotedLength is the length of the quoted text that s begins with; 0 where it
// has no end.
func QuotedLength(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case s[0]:
			return i + 1
		}
	}
	return 0
}

// selectors reads what stands in brackets.
func (p *pathParser) selectors(inner string) (out []pathSelector) {
	strict := p.dialect == dialectMember
	if filter, ok := strings.CutPrefix(inner, "?"); ok {
		if strict && !strings.HasPrefix(strings.TrimSpace(filter), "(") {
			fail("a filter is in parentheses")
		}
		return p.filter(filter)
	}
	if expr, ok := strings.CutPrefix(inner, "("); ok && !strict {
		rest, ok := strings.CutPrefix(strings.ReplaceAll(strings.TrimSuffix(expr, ")"), " ", ""), "@.length-")
		n, err := strconv.Atoi(rest)
		if !ok || err != nil || n <= 0 {
			fail("of scripts, only (@.length-n) is known")
		}
		return []pathSelector{atIndex(-n)}
	}
	for _, item := range splitOutside(inner, ',') {
		out = append(out, p.selector(strings.TrimSpace(item)))
	}
	return out
}

// splitOutside splits at a separator that is not within quotes.
func splitOutside(s string, sep byte) []string {
	var out []string
	begin := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\'', '"':
			i += max(QuotedLength(s[i:]), 1) - 1
		case sep:
			out = append(out, s[begin:i])
			begin = i + 1
		}
	}
	return append(out, s[begin:])
}

func (p *pathParser) selector(item string) pathSelector {
	switch {
	case item == "*":
		return allChildren
	case item == "":
		fail("nothing between brackets")
	case item[0] == '\'' || item[0] == '"':
		if QuotedLength(item) != len(item) {
			fail("%s is not a quoted name", item)
		}
		return p.named(Unescape(item))
	case strings.Contains(item, ":"):
		return slice(item)
	}
	if i, err := strconv.Atoi(item); err == nil {
		return atIndex(i)
	}
	if p.dialect == dialectMember || strings.ContainsAny(item, "()?@[]{}<>=!^~`'\"") {
		fail("%s is not known", item)
	}
	return p.named(item)
}

// Unescape takes the quotes off a name or a text.
func Unescape(quoted string) string {
	inner := quoted[1 : len(quoted)-1]
	if !strings.ContainsRune(inner, '\\') {
		return inner
	}
	var b strings.Builder
	for i := 0; i < len(inner); i++ {
		if inner[i] == '\\' && i+1 < len(inner) {
			i++
			if k := strings.IndexByte("ntr", inner[i]); k >= 0 {
				b.WriteByte("\n\t\r"[k])
				continue
			}
		}
		b.WriteByte(inner[i])
	}
	return b.String()
}

func allChildren(d *Document, yield func(*Document)) {
	for i := range d.Items {
		yield(&d.Items[i])
	}
}

func atIndex(i int) pathSelector {
	key := strconv.Itoa(i)
	return func(d *Document, yield func(*Document)) {
		c := d.at(i)
		if d.Kind == KindMap {
			c = d.get(key)
		}
		if c != nil {
			yield(c)
		}
	}
}

// slice reads start:end:step (RFC 9535, section 2.3.4).
func slice(item string) pathSelector {
	bounds, step := [3]*int{}, 1
	for i, p := range strings.Split(item, ":") {
		if p = strings.TrimSpace(p); p == "" && i < len(bounds) {
			continue
		}
		n, err := strconv.Atoi(p)
		if err != nil || i >= len(bounds) {
			fail("%s is not a slice", item)
		}
		bounds[i] = &n
	}
	if bounds[2] != nil {
		step = *bounds[2]
	}
	if step <= 0 {
		fail("a slice's step is above 0")
	}
	return func(d *Document, yield func(*Document)) {
		if d.Kind != KindList {
			return
		}
		edge := func(b *int, absent int) int {
			if b == nil {
				return absent
			}
			if *b < 0 {
				return max(*b+len(d.Items), 0)
			}
			return min(*b, len(d.Items))
		}
		for i, end := edge(bounds[0], 0), edge(bounds[1], len(d.Items)); i < end; i += min(step, len(d.Items)) {
			yield(&d.Items[i])
		}
	}
}

// filter reads what follows "[?": a condition on @, each child in turn.
func (p *pathParser) filter(src string) []pathSelector {
	cond, err := compileIn(p.dialect, src, func(name string) (func(*Evaluation) Datum, error) {
		rest, ok := strings.CutPrefix(name, "@")
		if !ok && name == "null" && p.dialect == dialectMember {
			return func(*Evaluation) Datum { return nullDatum }, nil
		}
		if !ok {
			return nil, fmt.Errorf("%s is not known: a filter looks at @", name)
		}
		if rest == "" {
			return func(e *Evaluation) Datum { return p.datum(e.item) }, nil
		}
		path := SplitPath(strings.TrimPrefix(rest, "."))
		return func(e *Evaluation) Datum {
			return p.datum(e.item.Walk(path))
		}, nil
	})
	check(err)
	return []pathSelector{func(d *Document, yield func(*Document)) {
		for i := range d.Items {
			if cond(&Evaluation{item: &d.Items[i]}).Truth() {
				yield(&d.Items[i])
			}
		}
	}}
}

// nullDatum is null in dialectMember, where a missing value is another one.
var nullDatum = Datum{Kind: KindNull, Text: "null"}

// datum is what a filter computes with; of nil nothing.
func (p *pathParser) datum(d *Document) Datum {
	switch {
	case d == nil:
		return Datum{}
	case d.Kind == KindNull && p.dialect == dialectMember:
		return nullDatum
	}
	return DatumOf(d.Value())
}

// Find returns the values that the path leads to, at most maxMatches. It gives
// up after visiting maxVisited values: "..*..*" visits the same values again and
// again.
func (p JSONPath) Find(d *Document) []*Document {
	now, visits := []*Document{d}, 0
	for _, s := range p {
		var next []*Document
		collect := func(c *Document) {
			if len(next) < MaxMatches {
				next = append(next, c)
			}
		}
		var into func(*Document)
		into = func(d *Document) {
			if visits += 1 + len(d.Items); visits > maxVisited {
				return
			}
			for _, sel := range s.selectors {
				sel(d, collect)
			}
			if s.descend && len(next) < MaxMatches {
				for i := range d.Items {
					into(&d.Items[i])
				}
			}
		}
		for _, d := range now {
			into(d)
		}
		now = next
	}
	return now
}

// SplitPath takes a.b[0]['c d'] apart.
func SplitPath(path string) []string {
	var out []string
	for path != "" {
		switch path[0] {
		case '.':
			path = path[1:]
			continue
		case '[':
			end := strings.IndexByte(path, ']')
			if len(path) > 1 && (path[1] == '\'' || path[1] == '"') {
				if n := QuotedLength(path[1:]); n > 0 && n+1 < len(path) && path[n+1] == ']' {
					out, path = append(out, Unescape(path[1:n+1])), path[n+2:]
					continue
				}
			}
			if end < 0 {
				return append(out, path)
			}
			out, path = append(out, strings.TrimSpace(path[1:end])), path[end+1:]
			continue
		}
		end := strings.IndexAny(path, ".[")
		if end < 0 {
			end = len(path)
		}
		out, path = append(out, path[:end]), path[end:]
	}
	return out
}
