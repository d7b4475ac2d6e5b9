package profile

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// SameEndpoint says whether a request's name means an endpoint. A name is a
// method and a path, such as "GET /cache/1f3a" in a load plan; an endpoint may
// leave open parts of the path, as any router writes them, and the method, or have
// several ("GET|POST /search"). An RPC procedure ("/twirp.carved.Carved/Count") is
// the end of the path that it is called by, also where the endpoint has it without
// its package. Of an endpoint that is one of several (see OneOf) any may be meant.
func SameEndpoint(endpoint, name string) bool {
	_, ok := matchEndpoint(endpoint, name)
	return ok
}

// matchEndpoint also says how many parts of the path the endpoint names.
func matchEndpoint(endpoint, name string) (named int, ok bool) {
	if endpoint == name {
		return len(name), true
	}
	if one, others, several := strings.Cut(endpoint, OneOf); several {
		if named, ok := matchEndpoint(one, name); ok {
			return named, true
		}
		return matchEndpoint(others, name)
	}
	method, path := cutMethod(endpoint)
	asked, at := cutMethod(name)
	at, _, _ = strings.Cut(at, "?")
	if path == "" || at == "" || !sameMethod(method, asked) {
		return 0, false
	}
	if isProcedure(path) && strings.HasSuffix(at, path) || isProcedure(at) && path == "/"+at[strings.LastIndexByte(at, '.')+1:] {
		return len(path), true
	}
	if prefix, pattern, ok := cutPattern(path); ok {
		rest, below := strings.CutPrefix(at, prefix)
		return 0, below && pattern.MatchString(rest)
	}
	if len(at) > 1 {
		at = strings.TrimSuffix(at, "/")
	}
	return matchOptional(groupOptional(path), strings.Split(at, "/"), maxOptional)
}

// groupOptional puts each part that may be left out into braces with its slash, as Express 5
// does: "/search/:kind?" of Express 4 and Fastify, and hapi's "/search/{kind?}".
func groupOptional(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts[1:] {
		parts[i+1] = "/" + part
		if isOpen(part) && strings.HasSuffix(strings.TrimSuffix(part, "}"), "?") {
			parts[i+1] = "{/" + part + "}"
		}
	}
	return strings.Join(parts, "")
}

// maxOptional bounds the groups of a path that may be left out.
const maxOptional = 6

// matchOptional compares a router's path with the parts of a request's, with and without
// each group of it that may be left out, as Express 5 writes them: "/search{/:kind}".
func matchOptional(path string, parts []string, groups int) (named int, ok bool) {
	if before, inner, after, found := cutGroup(path); found && groups > 0 {
		without, some := matchOptional(cmp.Or(before+after, "/"), parts, groups-1)
		if named, ok = matchOptional(before+inner+after, parts, groups-1); ok {
			return named, true
		}
		return without, some
	}
	if len(path) > 1 {
		path = strings.TrimSuffix(path, "/")
	}
	return matchPath(strings.Split(path, "/"), parts)
}

// cutGroup cuts the first group of a path that begins with a slash out of its braces.
func cutGroup(path string) (before, inner, after string, found bool) {
	before, rest, found := strings.Cut(path, "{/")
	open := 1
	for i := 0; i < len(rest) && found; i++ {
		switch rest[i] {
		case '{':
			open++
		case '}':
			open--
		}
		if open == 0 {
			return before, "/" + rest[:i], rest[i+1:], true
		}
	}
	return path, "", "", false
}

func sameMethod(method, asked string) bool {
	return method == "" || asked == "" || method == "*" || method == asked || asked == "HEAD" && method == "GET" ||
		slices.Contains(strings.Split(method, "|"), asked)
}

// matchPath compares the parts of a router's path with those of a request's.
func matchPath(open, parts []string) (named int, ok bool) {
	for i, o := range open {
		switch {
		case takesRest(o):
			return named, i < len(parts) || strings.HasPrefix(o, "{*")
		case i >= len(parts):
			return 0, false
		case o == parts[i]:
			named += 2
			continue
		}
		literal, pattern := segment(o)
		if pattern == nil || !pattern.MatchString(parts[i]) {
			return 0, false
		}
		if literal {
			named++ // it says more than an open segment, and less than a fixed one
		}
	}
	return named, len(open) == len(parts)
}

// OneOf stands between endpoints that one handler serves, where which of them a
// request was for does not show.
const OneOf = " or "

// cutMethod takes "GET /path" apart. Both are empty where it is no such name.
func cutMethod(name string) (method, path string) {
	if strings.HasPrefix(name, "/") {
		return "", name
	}
	method, path, _ = strings.Cut(name, " ")
	if !strings.HasPrefix(strings.TrimPrefix(path, "{"), "/") || strings.ToUpper(method) != method {
		return "", ""
	}
	return method, path
}

// cutPattern takes the path of a route apart that is a regular expression of
// JavaScript's: "/api/^\/rx(\d+)$/i", whose prefix is "/api".
func cutPattern(path string) (prefix string, pattern *regexp.Regexp, ok bool) {
	begin, end := strings.Index(path, "/^"), strings.LastIndexByte(path, '/')
	if begin < 0 || end < begin+2 {
		return "", nil, false
	}
	text := path[begin+1 : end]
	if strings.Contains(path[end+1:], "i") {
		text = "(?i)" + text
	}
	pattern, err := regexp.Compile(text)
	return path[:begin], pattern, err == nil
}

// isProcedure knows "/package.Service/Method".
func isProcedure(path string) bool {
	service, method, ok := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return ok && strings.Contains(service, ".") && method != "" && !strings.Contains(method, "/")
}

// isOpen reports whether a segment is one parameter and nothing else: ":id", ":id(\\d+)",
// ":id{[0-9]+}", "{id}", "{id?}", "{id:[0-9]+}", "<id>".
func isOpen(part string) bool {
	literal, pattern := segment(part)
	return pattern != nil && !literal
}

// segments are the patterns of the segments that were seen: routers' tables have few.
var segments sync.Map // string to parsedSegment

type parsedSegment struct {
	literal bool
	pattern *regexp.Regexp
}

// parameter is one parameter in a segment. A constraint follows its name in parentheses
// or braces (Express, Hono), or after a colon (gorilla, chi).
var parameter = regexp.MustCompile(`:\w+(?:\(((?:[^()\\]|\\.|\([^()]*\))*)\)|\{((?:[^{}]|\{[^{}]*\})*)\})?[?*+]?|\{(?:\w|[.*?-])+(?::((?:[^{}]|\{[^{}]*\})+))?\}|<[^<>]+>`)

// segment gives the pattern of a segment with parameters, each of which takes at least one
// character, and whether it has literal text too, as ":from-:to" and "report-:id.csv" have.
// A constraint that Go's regexp does not know allows everything. The pattern is nil where
// the segment has no parameter.
func segment(part string) (literal bool, pattern *regexp.Regexp) {
	if !strings.ContainsAny(part, ":{<") {
		return true, nil
	}
	if known, ok := segments.Load(part); ok {
		s := known.(parsedSegment)
		return s.literal, s.pattern
	}
	var text strings.Builder
	var s parsedSegment
	at := 0
	for _, m := range parameter.FindAllStringSubmatchIndex(part, -1) {
		text.WriteString(regexp.QuoteMeta(part[at:m[0]]))
		s.literal = s.literal || m[0] > at || at > 0 // two parameters side by side are no single one
		constraint := ".+"
		for group := 1; group <= 3; group++ {
			if m[2*group] >= 0 {
				if given := part[m[2*group]:m[2*group+1]]; compiles(given) {
					constraint = given
				}
			}
		}
		text.WriteString("(?:" + constraint + ")")
		at = m[1]
	}
	if at > 0 {
		s.literal = s.literal || at < len(part)
		text.WriteString(regexp.QuoteMeta(part[at:]))
		s.pattern = regexp.MustCompile("^(?:" + text.String() + ")$")
	}
	segments.Store(part, s)
	return s.literal, s.pattern
}

// compiles reports whether Go's regexp takes a constraint by itself.
func compiles(constraint string) bool {
	_, err := regexp.Compile("(?:" + constraint + ")")
	return err == nil
}

// takesRest knows a part that stands for all that follows: "*", "*path", "{*path}",
// "{path*}", "{path*2}", "{path...}", "{path:.*}", "{path:.+}", ":path*", ":path{.+}", "(.*)".
func takesRest(part string) bool {
	return part != "" && part[0] == '*' || part == "(.*)" || isOpen(part) && (strings.HasPrefix(part, "{*") || strings.HasSuffix(part, "...}") ||
		strings.HasSuffix(strings.TrimRight(part, "0123456789}"), "*") || strings.HasSuffix(part, ":.+}") || strings.Contains(part, "{.+"))
}

// IsKey says whether a part of a request's path looks like the key of one thing of
// many: a number, a UUID, a hash. What stands for those in an endpoint is one, too.
func IsKey(part string) bool {
	if part == "" || len(part) > 64 {
		return part != ""
	}
	digits, hex := 0, 0
	for _, c := range part {
		switch {
		case c >= '0' && c <= '9':
			digits, hex = digits+1, hex+1
		case c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' || c == '-':
			hex++
		}
	}
	return digits == len(part) || digits > 0 && hex == len(part) && len(part) >= 8 || digits >= 4 && len(part) >= 16
}

// EndpointFor gives the one of the known endpoints that a name means: the one
// that leaves least of it open. A name that means none stays as it is.
func EndpointFor(name string, known []string) string {
	best, most := name, -1
	for _, k := range known {
		if k == name {
			return name
		}
		if named, ok := matchEndpoint(k, name); ok && (named > most || named == most && len(k) > len(best)) {
			best, most = k, named
		}
	}
	return best
}

// pairEndpoints gives each side's endpoints the name of their row: their own
// where both sides have it, "old → new" where renamed says so, or where one is
// left on each side whose paths end in the same word, as a procedure's does that
// was carved out of an endpoint of its name.
func pairEndpoints(before, after []string, renamed map[string]string) [2]map[string]string {
	out := [2]map[string]string{{}, {}}
	pair := func(a, b string) {
		row := a
		if a != b {
			row = a + " → " + b
		}
		out[0][a], out[1][b] = row, row
	}
	for _, a := range before {
		if b, ok := renamed[a]; ok && slices.Contains(after, b) {
			pair(a, b)
		} else if slices.Contains(after, a) {
			pair(a, a)
		}
	}
	left := func(all []string, side int, word string) (found []string) {
		for _, e := range all {
			if out[side][e] == "" && lastWord(e) == word && word != "" {
				found = append(found, e)
			}
		}
		return found
	}
	for _, a := range before {
		if as, bs := left(before, 0, lastWord(a)), left(after, 1, lastWord(a)); len(as) == 1 && len(bs) == 1 {
			pair(as[0], bs[0])
		}
	}
	for side, all := range [2][]string{before, after} {
		for _, e := range all {
			if out[side][e] == "" {
				out[side][e] = e
			}
		}
	}
	return out
}

// lastWord is the last part of an endpoint's path, in lower case.
func lastWord(endpoint string) string {
	word := endpoint[strings.LastIndexByte(endpoint, '/')+1:]
	if isOpen(word) {
		return ""
	}
	return strings.ToLower(word)
}
