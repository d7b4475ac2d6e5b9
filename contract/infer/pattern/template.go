package pattern

import (
	"slices"
	"strconv"
	"strings"

	"whittle/contract"
)

// Bounds of the texts that a template is looked for in.
const (
	MaxBytes          = 8 << 10
	maxTemplateTokens = 512
	maxHoles          = 16
)

// Template is what several texts have in common: pieces that are the same in
// all, and holes between them. It only grows more general: every text that
// went into it fits it.
type Template struct {
	Parts []Part
	n     int
	// Varied says that not all texts were the same.
	Varied bool
	// Broken says that there is no template: a text is one string.
	Broken bool
}

// Part is a literal, or a hole where Hole is set.
type Part struct {
	Literal string
	Hole    *Hole
}

// Hole takes one integer, or any text.
type Hole struct{ Text bool }

// See takes one more text.
func (t *Template) See(text string) {
	t.n++
	if t.Broken {
		return
	}
	tokens := Tokens(text)
	if len(text) > MaxBytes || len(tokens) > maxTemplateTokens {
		t.discard()
		return
	}
	parts := make([]Part, len(tokens))
	for i, k := range tokens {
		parts[i].Literal = k
	}
	if t.n == 1 {
		t.Parts = parts
		return
	}
	t.join(parts)
}

// sameLiteral says that neither is a hole and both are the same.
func sameLiteral(a, b Part) bool { return a.Hole == nil && b.Hole == nil && a.Literal == b.Literal }

// join makes the template take what other parts take.
func (t *Template) join(other []Part) {
	if slices.EqualFunc(t.Parts, other, sameLiteral) {
		return
	}
	t.Varied = true
	if t.Parts = align(t.Parts, other); t.holes() > maxHoles {
		t.discard()
	}
}

func (t *Template) discard() { t.Broken, t.Parts = true, nil }

func (t *Template) holes() int {
	n := 0
	for _, p := range t.Parts {
		if p.Hole != nil {
			n++
		}
	}
	return n
}

// Absorb takes all that another template has seen.
func (t *Template) Absorb(o *Template) {
	switch {
	case o.n == 0:
	case t.n == 0:
		*t = Template{Parts: slices.Clone(o.Parts), n: o.n, Varied: o.Varied, Broken: o.Broken}
	default:
		t.n += o.n
		t.Varied = t.Varied || o.Varied
		switch {
		case t.Broken:
		case o.Broken:
			t.discard()
		default:
			t.join(o.Parts)
		}
	}
}

// Tokens takes a text apart: integers, words, and every other byte by itself.
// Integers that would not be written again in the same way are words.
func Tokens(s string) []string {
	var out []string
	for i := 0; i < len(s); {
		j := i + 1
		if isWordByte(s[i]) || s[i] == '-' && j < len(s) && isDigit(s[j]) && (i == 0 || !isWordByte(s[i-1])) {
			for j < len(s) && isWordByte(s[j]) {
				j++
			}
		}
		out = append(out, s[i:j])
		i = j
	}
	return out
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// isWordByte says that a byte is part of a word: letters, digits, _, and all
// that is not ASCII.
func isWordByte(c byte) bool {
	return isDigit(c) || c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// align makes the parts so general that what fits the others fits too: what is
// the same, in the longest order that both have, stays; between that lie holes.
func align(parts, tokens []Part) []Part {
	// Where only single tokens changed, there is nothing to search.
	if len(parts) == len(tokens) {
		if out, ok := alignEach(parts, tokens); ok {
			return out
		}
	}
	pairs := common(parts, tokens)
	var out []Part
	i, j := 0, 0
	for _, p := range append(pairs, [2]int{len(parts), len(tokens)}) {
		if i < p[0] || j < p[1] {
			out = append(out, Part{Hole: widened(parts[i:p[0]], tokens[j:p[1]])})
		}
		if p[0] < len(parts) {
			out = append(out, parts[p[0]])
		}
		i, j = p[0]+1, p[1]+1
	}
	return joined(out)
}

// alignEach goes token by token. It fails where more than a half of the words
// differ: then they do not stand for each other.
func alignEach(parts, tokens []Part) ([]Part, bool) {
	out := make([]Part, len(parts))
	words, differ := 0, 0
	for i, p := range parts {
		out[i] = p
		if p.Hole == nil && isWordByte(p.Literal[0]) && !IsInteger(p.Literal) {
			words++
		}
		other := tokens[i]
		if sameLiteral(p, other) {
			continue
		}
		h := widened(parts[i:i+1], tokens[i:i+1])
		if p.Hole == nil && h.Text {
			// A space or a comma against a word means that they are out of step.
			if other.Hole == nil && isWordByte(p.Literal[0]) != isWordByte(other.Literal[0]) {
				return nil, false
			}
			differ++
		}
		out[i] = Part{Hole: h}
	}
	return joined(out), 2*differ <= words || words <= 1
}

// widened is the hole that takes both what the parts were and the others.
func widened(parts, tokens []Part) *Hole {
	return &Hole{Text: len(parts) != 1 || len(tokens) != 1 || !parts[0].isNumber() || !tokens[0].isNumber()}
}

// isNumber says that all the part takes are integers.
func (p Part) isNumber() bool {
	if p.Hole != nil {
		return !p.Hole.Text
	}
	_, ok := PlainInt(p.Literal)
	return ok
}

// joined makes one hole of holes that touch: nobody could tell where one ends.
func joined(parts []Part) []Part {
	out := parts[:0]
	for _, p := range parts {
		if n := len(out); p.Hole != nil && n > 0 && out[n-1].Hole != nil {
			out[n-1].Hole = &Hole{Text: true}
			continue
		}
		out = append(out, p)
	}
	return out
}

// common is the longest sequence of literals that both have, as pairs of
// indices (the textbook's dynamic program).
func common(parts, tokens []Part) [][2]int {
	w := len(tokens) + 1
	length := make([]uint16, (len(parts)+1)*w)
	for i := len(parts) - 1; i >= 0; i-- {
		for j := len(tokens) - 1; j >= 0; j-- {
			if sameLiteral(parts[i], tokens[j]) {
				length[i*w+j] = length[(i+1)*w+j+1] + 1
			} else {
				length[i*w+j] = max(length[(i+1)*w+j], length[i*w+j+1])
			}
		}
	}
	var out [][2]int
	for i, j := 0, 0; i < len(parts) && j < len(tokens); {
		switch {
		case sameLiteral(parts[i], tokens[j]):
			out = append(out, [2]int{i, j})
			i, j = i+1, j+1
		case length[(i+1)*w+j] >= length[i*w+j+1]:
			i++
		default:
			j++
		}
	}
	return out
}

// Pieces gives the template as literals and holes, literals in one piece. Where
// all texts were the same, the integers in it are holes. It is nil where there
// is no template worth the name: texts with next to nothing between them.
func (t *Template) Pieces() []Part {
	if t.Broken || t.n == 0 {
		return nil
	}
	var out []Part
	literals := 0
	for _, p := range t.Parts {
		if _, ok := PlainInt(p.Literal); ok && !t.Varied {
			p = Part{Hole: &Hole{}}
		}
		if n := len(out); p.Hole == nil && n > 0 && out[n-1].Hole == nil {
			out[n-1].Literal += p.Literal
		} else {
			out = append(out, p)
		}
		literals += len(p.Literal)
	}
	texts := 0
	for _, p := range out {
		if p.Hole != nil && p.Hole.Text {
			texts++
		}
	}
	if texts > 0 && literals < 3*texts {
		return nil
	}
	return out
}

// Fit reads what stands in the holes of a text; a text hole takes as little as
// it can.
func Fit(parts []Part, text string) ([]string, bool) {
	var out []string
	for i, p := range parts {
		if p.Hole == nil {
			rest, ok := strings.CutPrefix(text, p.Literal)
			if !ok {
				return nil, false
			}
			text = rest
			continue
		}
		end := len(text)
		switch {
		case !p.Hole.Text:
			end -= len(strings.TrimLeft(strings.TrimPrefix(text, "-"), "0123456789"))
		case i+1 < len(parts):
			// The last part's literal must end the text.
			if i+2 == len(parts) {
				end = len(text) - len(parts[i+1].Literal)
			} else {
				end = strings.Index(text, parts[i+1].Literal)
			}
		}
		if end < 0 || end > len(text) {
			return nil, false
		}
		if _, ok := PlainInt(text[:end]); !p.Hole.Text && !ok {
			return nil, false
		}
		out = append(out, text[:end])
		text = text[end:]
	}
	return out, text == ""
}

// HoleName makes a field's name of the words next to a hole: the last one before
// it that means something, else the first one after it.
func HoleName(parts []Part, at int) string {
	if at > 0 {
		if w := tellingWord(parts[at-1].Literal, true); w != "" {
			return w
		}
	}
	if at+1 < len(parts) {
		if w := tellingWord(parts[at+1].Literal, false); w != "" {
			return w
		}
	}
	if !parts[at].Hole.Text {
		return "value"
	}
	return "text"
}

// fillers are words that name nothing.
var fillers = map[string]bool{
	"a": true, "an": true, "and": true, "are": true, "as": true, "at": true, "by": true, "for": true, "from": true,
	"has": true, "have": true, "in": true, "is": true, "it": true, "of": true, "on": true, "or": true, "that": true,
	"the": true, "there": true, "this": true, "to": true, "was": true, "were": true, "with": true, "you": true, "your": true,
	"br": true, "p": true, "b": true, "i": true, "li": true, "td": true, "div": true, "span": true,
}

func tellingWord(literal string, last bool) string {
	tokens := Tokens(literal)
	for i := range tokens {
		w := tokens[i]
		if last {
			w = tokens[len(tokens)-1-i]
		}
		lower := strings.ToLower(w)
		if _, err := strconv.Atoi(w); err != nil && len(w) > 1 && isWordByte(w[0]) && w[0] < 0x80 && !fillers[lower] {
			return contract.FieldName(lower)
		}
	}
	return ""
}
