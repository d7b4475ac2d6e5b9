package config

import (
	"fmt"
	"regexp"
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

// A spelling is what one segment of a path pattern means to the routers that
// are known here.
type spelling struct {
	kind segmentKind
	// name of the wildcard. Empty: it has none.
	name string
}

type segmentKind int

const (
	native   segmentKind = iota // as it is written here
	wildcard                    // one segment
	rest                        // one segment or more
	star                        // a lone star: rest at the end, wildcard elsewhere
	partial                     // a wildcard with something before or behind it
	anchored                    // a name with a regular expression's end
)

var (
	hereWildcard = regexp.MustCompile(`^\{(\$|[A-Za-z_]\w*(\.\.\.)?)\}$`)
	braced       = regexp.MustCompile(`^\{([^{}]*(\{[0-9,]*\}[^{}]*)*)\}$`) // "{id:[0-9]{4}}" too
	angled       = regexp.MustCompile(`^<([^<>]*)>$`)
	squared      = regexp.MustCompile(`^\[+(\.\.\.)?([A-Za-z_][\w-]*)(=\w+)?\]+$`)
	coloned      = regexp.MustCompile(`^:([A-Za-z_]\w*)(\(.*\)|[?+*])*$`)
	starred      = regexp.MustCompile(`^\*([A-Za-z_]\w*)$`)
	// inside is what only wildcards and regular expressions have, anywhere in a
	// segment. A colon behind a letter is none of it: Google's "items:get" and
	// OData's "Products(1)" are plain names.
	inside = regexp.MustCompile(`[*<>\\^|]|\{.*\}|(^|[^\w%]):[A-Za-z_]|\][+?]|^\[.*\]$|\.\+`)
	// notSlash takes out what only seems to reach over a slash.
	notSlash = strings.NewReplacer(`[^/]`, "x", `[^\/]`, "x")
	nameIn   = regexp.MustCompile(`[:<{]\*?(?:[a-z]+:)?([A-Za-z_]\w*)`)
)

// spellingOf gives how a segment is written.
func spellingOf(s string) spelling {
	switch {
	case s == "" || hereWildcard.MatchString(s):
		return spelling{kind: native}
	case s == "*":
		return spelling{kind: star}
	case braced.MatchString(s):
		return bracedSpelling(braced.FindStringSubmatch(s)[1])
	case angled.MatchString(s):
		return angledSpelling(angled.FindStringSubmatch(s)[1])
	case squared.MatchString(s):
		m := squared.FindStringSubmatch(s)
		return spelling{kind: oneOrMany(m[1] != ""), name: m[2]}
	case coloned.MatchString(s):
		m := coloned.FindStringSubmatch(s)
		constraint := strings.TrimPrefix(s[1:], m[1])
		return spelling{kind: oneOrMany(constraint == "*" || constraint == "+" || reaches(constraint)), name: m[1]}
	case starred.MatchString(s):
		return spelling{kind: rest, name: s[1:]}
	case !inside.MatchString(s) && strings.HasSuffix(s, "$") && s != "$":
		return spelling{kind: anchored, name: strings.TrimRight(s, "$")}
	case !inside.MatchString(s):
		return spelling{kind: native}
	case reaches(s):
		return spelling{kind: rest}
	}
	if m := nameIn.FindStringSubmatch(s); m != nil {
		return spelling{kind: partial, name: m[1]}
	}
	return spelling{kind: partial}
}

// bracedSpelling reads what stands in braces: "id:[0-9]+", "*rest", "id?".
func bracedSpelling(in string) spelling {
	in = strings.TrimSpace(in)
	name, constraint, _ := cutAny(in, ":=")
	bare := strings.Trim(name, "*+.? ")
	all := strings.ContainsAny(name, "*+") || strings.Contains(name, "...")
	return spelling{kind: oneOrMany(all || reaches(constraint)), name: bare}
}

// angledSpelling reads what stands in angle brackets: Flask's "int:id", in which
// the kind comes first, Bottle's "id:int", and Rocket's "rest..".
func angledSpelling(in string) spelling {
	first, second, two := cutAny(in, ":")
	name, kind := first, second
	if two && isKind(first) {
		name, kind = second, first
	}
	return spelling{kind: oneOrMany(strings.HasSuffix(name, "..") || reaches(kind)), name: strings.TrimRight(name, ".")}
}

// isKind reports whether a word is a converter of Flask, Django or Starlette, or
// one with arguments.
func isKind(s string) bool {
	switch s {
	case "int", "float", "path", "string", "str", "uuid", "slug", "default":
		return true
	}
	return strings.Contains(s, "(")
}

// reaches reports whether a constraint lets a wildcard match slashes.
func reaches(constraint string) bool {
	if constraint == "path" {
		return true
	}
	c := notSlash.Replace(constraint)
	return strings.Contains(c, ".*") || strings.Contains(c, ".+") || strings.Contains(c, "**") || strings.Contains(c, "/")
}

func oneOrMany(many bool) segmentKind {
	if many {
		return rest
	}
	return wildcard
}

func cutAny(s, marks string) (before, after string, found bool) {
	if i := strings.IndexAny(s, marks); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}
