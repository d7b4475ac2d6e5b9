package form

import (
	"bytes"
	"iter"
	"strings"
)

// textMost is how much of one text is looked at.
const textMost = most * most // bytes

// Shape is a text without the parts that a service makes for each response: numbers with what
// belongs to them, ids, times. Services that make them in the same way have the same shape.
//
//	/orders/17?state=8f3kq92x   /orders/#?state=#
//	max-age=60                  max-age=#
func Shape(text string) string {
	s := []byte(text[:min(len(text), textMost)])
	if f, _ := classify(s); f.class == classTime && strings.HasPrefix(f.words, "a time as ") {
		return f.String()
	}
	var shape []byte
	for run, belongs := range runs(s, tokenChar) {
		if !belongs {
			shape = append(shape, run...)
			continue
		}
		switch class := classifyTimeless(run).class; {
		case class == classUUID, class == classHex, class == classToken, len(run) >= 8 && charsOf(run).areOnly(hexLetter): // an id
			shape = append(shape, '#')
		default:
			for part := range runs(run, alphanumeric) {
				if bytes.ContainsAny(part, "0123456789") {
					part = []byte{'#'}
				}
				shape = append(shape, part...)
			}
		}
	}
	return strings.ReplaceAll(string(shape), "#.#", "#")
}

// runs gives the longest parts of a text whose bytes all belong to a piece, and those whose do
// not, in order. What is not ASCII belongs to one.
func runs(text []byte, of chars) iter.Seq2[[]byte, bool] {
	is := func(b byte) bool { return b >= 0x80 || of.have(charOf(b)) }
	return func(yield func([]byte, bool) bool) {
		for start := 0; start < len(text); {
			end := start + 1
			for end < len(text) && is(text[end]) == is(text[start]) {
				end++
			}
			if !yield(text[start:end:end], is(text[start])) {
				return
			}
			start = end
		}
	}
}
