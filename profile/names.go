package profile

import (
	"slices"
	"strings"
)

// SameEndpoint says whether a request's name means an endpoint. A name is a
// method and a path, such as "GET /cache/1f3a" in a load plan; an endpoint may
// leave open parts of the path ("GET /cache/{id}", "/cache/:id") and the method.
// An RPC procedure ("/twirp.carved.Carved/Count") is the end of the path that
// it is called by.
func SameEndpoint(endpoint, name string) bool {
	if endpoint == name {
		return true
	}
	method, path := cutMethod(endpoint)
	asked, at := cutMethod(name)
	at, _, _ = strings.Cut(at, "?")
	if path == "" || at == "" || method != "" && asked != "" && method != "*" && method != asked {
		return false
	}
	if isProcedure(path) && strings.HasSuffix(at, path) {
		return true
	}
	open, parts := strings.Split(path, "/"), strings.Split(at, "/")
	for i, o := range open {
		if o == "*" || strings.HasPrefix(o, "{") && strings.HasSuffix(o, "...}") {
			return true
		}
		if i >= len(parts) || o != parts[i] && !isOpen(o) {
			return false
		}
	}
	return len(open) == len(parts)
}

// cutMethod takes "GET /path" apart. Both are empty where it is no such name.
func cutMethod(name string) (method, path string) {
	if strings.HasPrefix(name, "/") {
		return "", name
	}
	method, path, _ = strings.Cut(name, " ")
	if !strings.HasPrefix(path, "/") || strings.ToUpper(method) != method {
		return "", ""
	}
	return method, path
}

// isProcedure knows "/package.Service/Method".
func isProcedure(path string) bool {
	service, method, ok := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return ok && strings.Contains(service, ".") && method != "" && !strings.Contains(method, "/")
}

func isOpen(part string) bool {
	return len(part) > 1 && part[0] == ':' || strings.HasPrefix(part, "{") && strings.HasSuffix(part, "}")
}

// endpointFor gives the one of the known endpoints that a name means: the
// longest, which leaves least open. A name that means none stays as it is.
func endpointFor(name string, known []string) string {
	best := ""
	for _, k := range known {
		if k == name {
			return name
		}
		if SameEndpoint(k, name) && len(k) > len(best) {
			best = k
		}
	}
	if best == "" {
		return name
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
