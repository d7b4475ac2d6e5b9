package config

import (
	"regexp"
	"strings"
)

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
