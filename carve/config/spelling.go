package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// foreignPattern refuses a path pattern in the spelling of another router, which
// would at best match its own letters here, and says how to write it. Nil: the
// pattern is in this router's spelling, or is none at all.
//
// It knows the wildcards of Express, Gin, Echo and Rails (":id", "*rest"), of
// gorilla, chi, JAX-RS and Spring ("{id:[0-9]+}", "{*rest}", "**"), of ASP.NET
// and Laravel ("{id?}"), of FastAPI, Flask and Bottle ("{rest:path}",
// "<int:id>"), of Next.js ("[id]", "[...rest]"), globs and regular expressions.
func foreignPattern(pattern string) error {
	if !strings.HasPrefix(pattern, "/") {
		return nil
	}
	var t translation
	parts := segmentsOf(pattern[1:])
	for i, part := range parts {
		if t.add(spellingOf(part), part, i == len(parts)-1); t.ended {
			break
		}
	}
	if !t.foreign {
		return nil
	}
	write := "/" + strings.Join(t.right, "/")
	if t.wider != "" {
		write += " (" + t.wider + ", so this matches more)"
	}
	return fmt.Errorf("%s is how other routers write it; here a wildcard is {id}, and {rest...} is all that follows: write %s, or %s for these letters themselves",
		quote(pattern), write, literally(pattern))
}

// translation gathers a pattern's segments as they are written here.
type translation struct {
	right []string
	names []string
	// foreign says that one of them was written differently.
	foreign bool
	// wider is why the translation matches more than what was written. Empty: it
	// does not.
	wider string
	// ended says that a wildcard for all that follows has been added.
	ended bool
}

func (t *translation) add(s spelling, part string, last bool) {
	t.foreign = t.foreign || s.kind != native
	switch {
	case s.kind == native:
		t.right = append(t.right, part)
		return
	case s.kind == anchored:
		t.right = append(t.right, s.name)
		return
	case s.kind == partial:
		t.wider = "a wildcard is a whole segment"
	case s.kind == rest && !last:
		t.wider = "what matches several segments is the last one"
	case s.kind == star && !last:
		s.kind = wildcard // one star between slashes is one segment
	}
	if s.kind == rest || s.kind == star {
		t.ended = true
		t.right = append(t.right, "{"+t.name(s.name, "rest")+"...}")
		return
	}
	t.right = append(t.right, "{"+t.name(s.name, "id")+"}")
}

// name makes a name that net/http takes, and that no other wildcard has.
func (t *translation) name(wanted, otherwise string) string {
	name := strings.Map(func(c rune) rune {
		if isLetter(c) || c >= '0' && c <= '9' || c == '_' {
			return c
		}
		return '_'
	}, wanted)
	if name = strings.Trim(name, "_"); name == "" || !isLetter(rune(name[0])) || len(name) > 40 {
		name = otherwise
	}
	base := name
	for n := 2; slices.Contains(t.names, name); n++ {
		name = base + strconv.Itoa(n)
	}
	t.names = append(t.names, name)
	return name
}

func isLetter(c rune) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' && c < 0x80 }

// segmentsOf cuts at the slashes that no bracket encloses: "{rest:[^/]+}" is one
// segment. Brackets that do not close enclose nothing.
func segmentsOf(s string) []string {
	var parts []string
	depth, from := 0, 0
	for i, c := range s {
		switch {
		case strings.ContainsRune("{[(<", c):
			depth++
		case strings.ContainsRune("}])>", c):
			depth--
		case c == '/' && depth == 0:
			parts, from = append(parts, s[from:i]), i+1
		}
	}
	if depth != 0 {
		return strings.Split(s, "/")
	}
	return append(parts, s[from:])
}

// literally writes a pattern so that each of its letters stands for itself.
func literally(pattern string) string {
	var b strings.Builder
	for i := range len(pattern) {
		if c := pattern[i]; strings.IndexByte(`*:<>[]{}()\^|+$?# `, c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
