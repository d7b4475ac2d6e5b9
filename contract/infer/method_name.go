package infer

import (
	"cmp"
	"strings"

	"whittle/contract"
	"whittle/contract/infer/pattern"
)

// resource is what an endpoint is about: the last literal that says something,
// the one before the last wildcard above it, and whether a wildcard follows.
type resource struct {
	last, parent string
	one          bool
}

func resourceOf(segments []pattern.Segment) resource {
	var r resource
	wildcard := false
	for _, s := range segments {
		switch {
		case s.Wildcard:
			wildcard = true
		case pattern.Descriptive(s.Literal):
			if wildcard {
				r.parent = r.last
			}
			r.last, wildcard = s.Literal, false
		}
	}
	r.one = wildcard
	return r
}

// methodName makes a procedure's name of an endpoint: GET /users is ListUsers,
// GET /users/{user_id} is GetUser, POST /users is CreateUser, POST /Count is
// Count. list says that the response has several of what the path names.
func methodName(method string, segments []pattern.Segment, list bool) string {
	r := resourceOf(segments)
	if r.last == "" {
		return verbs[method] + "Root"
	}
	noun := contract.TypeName(r.last)
	single := contract.Singular(noun)
	parent := ""
	if r.parent != "" {
		parent = contract.TypeName(contract.Singular(r.parent))
	}
	switch {
	case method == "POST" && !r.one && single == noun:
		// Something is done, not made: "/Count", "/users/{id}/activate".
		return noun + parent
	case method == "POST" && !r.one:
		return "Create" + parent + single
	case r.one:
		return verbs[method] + parent + single
	case list:
		return "List" + parent + noun
	}
	return verbs[method] + parent + noun
}

var verbs = map[string]string{"GET": "Get", "POST": "Post", "PUT": "Update", "PATCH": "Patch", "DELETE": "Delete"}

// longName joins all literals, for a name that another method has already.
func longName(method string, segments []pattern.Segment) string {
	var b strings.Builder
	b.WriteString(verbs[method])
	for _, s := range segments {
		switch {
		case s.Wildcard:
			b.WriteString("By")
			b.WriteString(contract.TypeName(s.Name))
		case s.Literal != "":
			b.WriteString(contract.TypeName(s.Literal))
		}
	}
	name := b.String()
	return strings.TrimSuffix(strings.ReplaceAll(name, "ByThing", ""), "By")
}

// serviceName makes the service's name of the literals that all endpoints begin
// with, or, where there is one, of the first one's resource.
func serviceName(endpoints []*endpoint) string {
	if len(endpoints) == 0 {
		return "MonolithService"
	}
	counts := map[string]int{}
	for _, e := range endpoints {
		for _, s := range e.segments {
			if !s.Wildcard && pattern.Descriptive(s.Literal) {
				counts[s.Literal]++
				break
			}
		}
	}
	first := resourceOf(endpoints[0].segments).last
	for literal, n := range counts {
		if n == len(endpoints) {
			first = literal
		}
	}
	if first == "" || len(counts) > 1 {
		first = "monolith"
	}
	return strings.TrimSuffix(contract.TypeName(contract.Singular(first)), "Service") + "Service"
}

// packageName is the service's name as a package, with a version: "user.v1".
func packageName(service string) string {
	name := strings.ReplaceAll(contract.FieldName(strings.TrimSuffix(service, "Service")), "_", "")
	name = cmp.Or(name, "service")
	return name + ".v1"
}
