package header

import (
	"slices"
	"strconv"
	"strings"

	"whittle"
)

// Where an address varies by itself (a Location with a random state), what does not vary of
// it is compared by piece: each parameter of its query, and each segment of its path. Each
// piece is a header of its own, with noise of its own; it is asked about only once the
// whole is known to vary. A Link has several addresses, each with what it is related as.

// pieceOf stands between the name of a header and that of a piece of its address:
// "Location ?page", "Location /2", "Link next ?page".
const pieceOf = " "

// Bounds of the pieces of one address.
const (
	piecesMost    = 16
	pieceNameMost = 64
	linksMost     = 4 // of one Link
)

// addresses are the headers that are one address, or several with what they are for.
var addresses = []string{"Location", "Content-Location", "Link"}

func addressed(name string) bool { return slices.Contains(addresses, name) }

// wholeOf is the name of the header that a piece is of, and the piece's own; ok is false of
// what is no piece.
func wholeOf(name string) (whole, piece string, ok bool) {
	whole, piece, ok = strings.Cut(name, pieceOf)
	return whole, piece, ok && addressed(whole)
}

// headerOf is the name of the header that a place is, or is a piece of.
func headerOf(name string) string {
	if whole, _, ok := wholeOf(name); ok {
		return whole
	}
	return name
}

// pieces calls a function for each piece of what a header says.
func pieces(header, word string, do func(name, word string)) {
	if header != "Link" {
		addressPieces(word, do)
		return
	}
	var seen []string
	for len(seen) < linksMost {
		_, rest, found := strings.Cut(word, "<")
		address, rest, closed := strings.Cut(rest, ">")
		if !found || !closed {
			return
		}
		end := strings.IndexByte(rest, '<')
		if end < 0 {
			end = len(rest)
		}
		rel := relOf(rest[:end])
		if word = rest[end:]; slices.Contains(seen, rel) {
			continue
		}
		seen = append(seen, rel)
		addressPieces(address, func(name, piece string) { do(rel+pieceOf+name, piece) })
	}
}

// relOf is what a link is related as, by its parameters.
func relOf(parameters string) string {
	for parameter := range strings.SplitSeq(parameters, ";") {
		name, value, _ := strings.Cut(strings.Trim(parameter, " ,"), "=")
		if strings.EqualFold(name, "rel") {
			return strings.ReplaceAll(strings.Trim(value[:min(len(value), pieceNameMost)], `"`), " ", "-")
		}
	}
	return "link"
}

// addressPieces calls a function for each piece of an address: "?page" with "?page=2", "/2"
// with its second segment. Of a parameter that comes again the values stand together.
func addressPieces(address string, do func(name, word string)) {
	address, _, _ = strings.Cut(address, "#")
	path, query, _ := strings.Cut(address, "?")
	n := 0
	for segment := range strings.SplitSeq(path, "/") {
		if n++; n > piecesMost {
			break
		}
		do("/"+strconv.Itoa(n), "/"+segment)
	}
	all, names := map[string]string{}, []string{}
	for parameter := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(parameter, "=")
		name = "?" + name[:min(len(name), pieceNameMost)]
		if _, again := all[name]; !again {
			if len(names) >= piecesMost {
				break
			}
			names = append(names, name)
		}
		all[name] += "&" + parameter
	}
	for _, name := range names {
		if word := all[name]; word != "&" {
			do(name, "?"+word[1:])
		}
	}
}

// pieceWords are what the monolith and another say in a piece of an address, where both
// have one.
func pieceWords(header, from, to, piece string) (string, string) {
	if from == absent || to == absent {
		return absent, absent
	}
	return pieceWord(header, from, piece), pieceWord(header, to, piece)
}

// pieceWord is a piece of an address; absent: it has none of the name.
func pieceWord(header, address, piece string) string {
	word := absent
	pieces(header, address, func(name, w string) {
		if name == piece {
			word = w
		}
	})
	return word
}

// varied adds the pieces of those addresses that are known to vary.
func (h *Headers) varied(names []string, x *whittle.Exchange, responses []*whittle.Response) []string {
	for _, name := range names {
		if n := h.name(name); !addressed(name) || !n.Ways[headerValue].Noisy && !n.Ways[headerForm].Noisy {
			continue
		}
		here := map[string]bool{}
		for _, a := range responses {
			from, to := headerWords(name, x, a)
			if from == absent || to == absent {
				continue // the whole speaks for itself
			}
			for _, address := range []string{from, to} {
				pieces(name, address, func(piece, _ string) {
					if whole := name + pieceOf + piece; !here[whole] && h.name(whole) != nil {
						here[whole] = true
						names = append(names, whole)
					}
				})
			}
		}
	}
	return names
}

// learnPieces takes the pieces in which the monolith's own two addresses differ for noise.
func (h *Headers) learnPieces(x *whittle.Exchange, other *whittle.Response) (learned bool) {
	for _, name := range addresses {
		if _, known := h.index[name]; !known {
			continue
		}
		one := *x
		one.Candidate = *other
		for _, piece := range h.varied([]string{name}, &one, []*whittle.Response{other})[1:] {
			if p, ok := h.pair(piece, x, other); ok {
				learned = h.learn(&p) || learned
			}
		}
	}
	return learned
}
