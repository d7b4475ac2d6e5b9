package backtrack

import (
	"maps"
	"strconv"
	"strings"
)

// part is a part of an expression as an automaton of positions (Glushkov 1961): where a
// text of it may begin and end, and in how many ways.
type part struct {
	nullable    int // how many ways there are to match nothing
	first, last map[int]int
}

// parser makes an automaton of an expression. follow and before say which position comes
// after which, in how many ways; 2 stands for more.
type parser struct {
	text   string
	at     int
	sets   []set
	follow []map[int]int
	before []map[int]int
	ends   bool // with $, which fails in the midst of a text
	depth  int  // of the group that is read
}

const many = 2

func times(a, b int) int { return min(a*b, many) }

func sum(into, more map[int]int, ways int) map[int]int {
	out := maps.Clone(into)
	if out == nil {
		out = map[int]int{}
	}
	for at, n := range more {
		if n = times(n, ways); n > 0 {
			out[at] = min(out[at]+n, many)
		}
	}
	return out
}

func (p *parser) parse() (part, bool) {
	p.text = strings.TrimPrefix(p.text, "^")
	if body, ok := strings.CutSuffix(p.text, "$"); ok && (len(body)-len(strings.TrimRight(body, `\`)))%2 == 0 {
		p.text, p.ends = body, true
	}
	whole, ok := p.alternatives()
	return whole, ok && p.at == len(p.text)
}

func (p *parser) peek() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

func (p *parser) alternatives() (part, bool) {
	out, ok := p.sequence()
	for ok && p.peek() == '|' {
		p.at++
		p.ends = p.ends && p.depth > 0 // "a|b$" ends only one of the two
		var other part
		other, ok = p.sequence()
		out = part{min(out.nullable+other.nullable, many), sum(out.first, other.first, 1), sum(out.last, other.last, 1)}
	}
	return out, ok
}

func (p *parser) sequence() (part, bool) {
	out := part{nullable: 1}
	for p.at < len(p.text) && p.peek() != '|' && p.peek() != ')' {
		next, ok := p.repeated()
		if !ok {
			return out, false
		}
		out = p.then(out, next)
	}
	return out, true
}

// then is one part after another.
func (p *parser) then(a, b part) part {
	p.join(a.last, b.first)
	return part{times(a.nullable, b.nullable), sum(a.first, b.first, a.nullable), sum(b.last, a.last, b.nullable)}
}

func (p *parser) join(last, first map[int]int) {
	for from, n := range last {
		for to, m := range first {
			ways := min(p.follow[from][to]+times(n, m), many)
			p.follow[from][to], p.before[to][from] = ways, ways
		}
	}
}

// repeated reads a part with its quantifier. One that repeats several times is read as
// often, but for one that holds no position: it is the same however often it stands there.
func (p *parser) repeated() (part, bool) {
	begin, positions := p.at, len(p.sets)
	one, ok := p.atom()
	if !ok {
		return one, false
	}
	least, most, ok := p.quantifier()
	if !ok {
		return one, false
	}
	end := p.at
	again := func() (part, bool) {
		p.at = begin
		return p.atom()
	}
	out := part{nullable: 1}
	for n := 0; n < max(least, most, 1) && ok; n++ {
		if n > 0 {
			one, ok = again()
		}
		if most < 0 && n >= least-1 { // the last is the one that goes on
			p.join(one.last, one.first)
			if least == 0 {
				one.nullable = 1
			}
		} else if n >= least {
			one.nullable = 1
		}
		out = p.then(out, one)
		if len(p.sets) > maxPositions {
			return out, false
		}
		if len(p.sets) == positions {
			break
		}
	}
	p.at = end
	return out, ok
}

// quantifier reads how often something is repeated. most below 0: without end.
func (p *parser) quantifier() (least, most int, ok bool) {
	least, most = 1, 1
	switch p.peek() {
	case '*':
		least, most = 0, -1
	case '+':
		most = -1
	case '?':
		least = 0
	case '{':
		end := strings.IndexByte(p.text[p.at:], '}')
		if end < 0 {
			return 1, 1, true
		}
		from, to, open := strings.Cut(p.text[p.at+1:p.at+end], ",")
		n, err := strconv.Atoi(from)
		if err != nil || n < 0 || n > maxPositions {
			return 0, 0, false
		}
		least, most = n, n
		if open && to == "" {
			most = -1
		} else if open {
			if most, err = strconv.Atoi(to); err != nil || most < least || most > maxPositions {
				return 0, 0, false
			}
		}
		if most == 0 {
			return 0, 0, false
		}
		p.at += end
	default:
		return 1, 1, true
	}
	p.at++
	if p.peek() == '?' { // lazily: in another order, and as often
		p.at++
	}
	return least, most, true
}

// atom reads a character, a class or a group.
func (p *parser) atom() (part, bool) {
	switch c := p.peek(); c {
	case '(':
		return p.group()
	case '[':
		s, ok := p.class()
		return p.position(s), ok
	case '.':
		p.at++
		return p.position(set{^uint64(1<<'\n' | 1<<'\r'), ^uint64(0)}), true
	case '^', '$', '*', '+', '?', 0:
		return part{}, false
	case '\\':
		s, ok := p.escape()
		return p.position(s), ok
	default:
		p.at++
		var s set
		s.add(c)
		return p.position(s), true
	}
}

// position adds one.
func (p *parser) position(s set) part {
	at := len(p.sets)
	p.sets = append(p.sets, s)
	p.follow, p.before = append(p.follow, map[int]int{}), append(p.before, map[int]int{})
	return part{0, map[int]int{at: 1}, map[int]int{at: 1}}
}

// group reads "(…)", "(?:…)" and "(?<name>…)". Assertions are not judged.
func (p *parser) group() (part, bool) {
	p.at++
	if p.peek() == '?' {
		rest := p.text[p.at:]
		switch {
		case strings.HasPrefix(rest, "?:"):
			p.at += 2
		case strings.HasPrefix(rest, "?<") && !strings.HasPrefix(rest, "?<=") && !strings.HasPrefix(rest, "?<!") && strings.Contains(rest, ">"):
			p.at += strings.IndexByte(rest, '>') + 1
		default:
			return part{}, false
		}
	}
	if p.depth++; p.depth > maxDepth {
		return part{}, false
	}
	inner, ok := p.alternatives()
	p.depth--
	if !ok || p.peek() != ')' {
		return inner, false
	}
	p.at++
	return inner, true
}

// escape reads what stands behind a backslash.
func (p *parser) escape() (set, bool) {
	var s set
	if p.at++; p.at >= len(p.text) {
		return s, false
	}
	c := p.peek()
	p.at++
	switch c {
	case 'd', 'D':
		s.addRange('0', '9')
	case 'w', 'W':
		s.addRange('0', '9')
		s.addRange('a', 'z')
		s.addRange('A', 'Z')
		s.add('_')
	case 's', 'S':
		for _, c := range []byte(" \t\n\r\v\f") {
			s.add(c)
		}
	case 'n':
		s.add('\n')
	case 'r':
		s.add('\r')
	case 't':
		s.add('\t')
	case 'v':
		s.add('\v')
	case 'f':
		s.add('\f')
	case 'x', 'u':
		digits := map[byte]int{'x': 2, 'u': 4}[c]
		if p.at+digits > len(p.text) {
			return s, false
		}
		n, err := strconv.ParseUint(p.text[p.at:p.at+digits], 16, 32)
		if err != nil {
			return s, false
		}
		p.at += digits
		if n < 128 {
			s.add(byte(n))
		}
	default:
		if c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' { // a back reference, a boundary, a property
			return s, false
		}
		s.add(c)
	}
	if c == 'D' || c == 'W' || c == 'S' {
		s = s.without()
	}
	return s, true
}

// class reads "[…]".
func (p *parser) class() (set, bool) {
	var s set
	p.at++
	negated := p.peek() == '^'
	if negated {
		p.at++
	}
	for p.at < len(p.text) && p.peek() != ']' {
		from := p.peek()
		if from == '\\' {
			one, ok := p.escape()
			if !ok {
				return s, false
			}
			s = s.with(one)
			continue
		}
		p.at++
		if p.at+1 < len(p.text) && p.peek() == '-' && p.text[p.at+1] != ']' && p.text[p.at+1] != '\\' && from < 128 {
			s.addRange(from, min(p.text[p.at+1], 127))
			p.at += 2
			continue
		}
		s.add(from)
	}
	if p.at >= len(p.text) {
		return s, false
	}
	p.at++
	if negated {
		s = s.without()
	}
	return s, true
}
