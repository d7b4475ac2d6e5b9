package collect

import (
	"strings"

	"whittle/profile"
)

// openPath writes "GET /orders/17/csv" as "GET /orders/{id}/csv": a part of a path that
// profile.IsKey knows is one of many.
func openPath(name string) string {
	return openParts(name, func(_ int, part string) bool { return profile.IsKey(part) })
}

// openParts leaves open which parts of a name's path it is told to.
func openParts(name string, open func(at int, part string) bool) string {
	method, path, ok := strings.Cut(name, " ")
	if !ok {
		return name
	}
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if open(i, part) {
			parts[i] = openPart
		}
	}
	return method + " " + strings.Join(parts, "/")
}

const openPart = "{id}"

// fewKeys is how many texts with a digit there have to be at one place of a path for them
// to be keys, such as "sku42" and "anna7": a version and a name as oauth2 are fewer.
const fewKeys = 8

// keyPlace is a place of a path, which is written with all parts open that have a digit.
type keyPlace struct {
	form string
	at   int
}

// keyPlaces are the places of paths at which keys are that do not look like one by
// themselves.
type keyPlaces map[keyPlace]bool

// keysIn finds them among the names of requests.
func keysIn(names []string) keyPlaces {
	texts := map[keyPlace]map[string]bool{}
	for _, name := range names {
		form := openParts(name, withDigit)
		openParts(name, func(at int, part string) bool {
			if p := (keyPlace{form, at}); withDigit(at, part) {
				if texts[p] == nil {
					texts[p] = map[string]bool{}
				}
				texts[p][part] = true
			}
			return false
		})
	}
	out := keyPlaces{}
	for p, all := range texts {
		out[p] = len(all) >= fewKeys
	}
	return out
}

func withDigit(_ int, part string) bool { return strings.ContainsAny(part, "0123456789") }

// open is openPath, and leaves open the places of keys, too.
func (k keyPlaces) open(name string) string {
	form := openParts(name, withDigit)
	return openParts(name, func(at int, part string) bool {
		return profile.IsKey(part) || k[keyPlace{form, at}] && withDigit(at, part)
	})
}
