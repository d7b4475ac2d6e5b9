package fault

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"whittle"
	"whittle/e2e/campaign/family"
)

// value changes the values of a kind. What change is given is a JSON value
// (string, json.Number, bool, nil, []any, map) or, of text, CSV and headers, a
// string; what it gives back is written in its place. With all false only the
// first value is changed that can be.
func value(kind family.Kind, change func(c *Candidate, old any) any) func(*Candidate, *Call, *whittle.Response) bool {
	return func(c *Candidate, call *Call, a *whittle.Response) bool {
		place, ok := call.Family.Has(kind)
		return ok && edit(a, place, func(old any) any { return change(c, old) })
	}
}

// removed in the place of a value leaves its member out.
type removed struct{}

// edit puts another value into a place of a response. False: the response has
// no such value, or the change leaves it as it is.
func edit(a *whittle.Response, p family.Place, change func(any) any) bool {
	switch p.In {
	case family.InHead:
		return editHeader(a, p.Path, change)
	case family.Line:
		return editLine(a, p.Path, change)
	case family.Column:
		return editColumn(a, p.Column, change)
	}
	return editBody(a, func(doc any) bool { return editPath(doc, strings.Split(p.Path, "."), change) })
}

// editBody lets change work on the JSON of a body.
func editBody(a *whittle.Response, change func(doc any) bool) bool {
	d := json.NewDecoder(bytes.NewReader(a.Body))
	d.UseNumber()
	var doc any
	if d.Decode(&doc) != nil || !change(doc) {
		return false
	}
	body, err := json.Marshal(doc)
	a.Body = body
	return err == nil
}

// editPath changes the value at a path, and of a list's elements the first one
// that it can. "*" is any element.
func editPath(doc any, path []string, change func(any) any) bool {
	if len(path) == 0 {
		return false
	}
	switch doc := doc.(type) {
	case map[string]any:
		old, ok := doc[path[0]]
		if !ok {
			return false
		}
		if len(path) > 1 {
			return editPath(old, path[1:], change)
		}
		fresh := change(old)
		if _, gone := fresh.(removed); gone {
			delete(doc, path[0])
			return true
		}
		doc[path[0]] = fresh
		return !equal(old, fresh)
	case []any:
		return path[0] == "*" && slices.ContainsFunc(doc, func(e any) bool { return editPath(e, path[1:], change) })
	}
	return false
}

func equal(a, b any) bool {
	x, err1 := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err1 == nil && err2 == nil && bytes.Equal(x, y)
}

func editHeader(a *whittle.Response, name string, change func(any) any) bool {
	old := a.Header[name]
	if len(old) == 0 {
		return false
	}
	switch fresh := change(old[0]).(type) {
	case removed:
		delete(a.Header, name)
		return true
	case string:
		a.Header[name] = append([]string{fresh}, old[1:]...)
		return fresh != old[0]
	}
	return false
}

// editLine changes what follows a line's beginning, up to the next space where
// it is a number.
func editLine(a *whittle.Response, beginning string, change func(any) any) bool {
	before, rest, ok := bytes.Cut(a.Body, []byte(beginning))
	if !ok {
		return false
	}
	line, after, _ := bytes.Cut(rest, []byte("\n"))
	old, tail := string(line), ""
	if first, more, ok := strings.Cut(old, " "); ok && isNumber(first) {
		old, tail = first, " "+more
	}
	fresh, ok := asText(change(asNumber(old)))
	if !ok || fresh == old {
		return false
	}
	a.Body = slices.Concat(before, []byte(beginning+fresh+tail+"\n"), after)
	return true
}

func editColumn(a *whittle.Response, column int, change func(any) any) bool {
	rows, err := csv.NewReader(bytes.NewReader(a.Body)).ReadAll()
	if err != nil {
		return false
	}
	for _, row := range rows[min(1, len(rows)):] {
		if fresh, ok := asText(change(asNumber(row[column]))); ok && fresh != row[column] {
			row[column] = fresh
			return writeRows(a, rows)
		}
	}
	return false
}

func writeRows(a *whittle.Response, rows [][]string) bool {
	var b bytes.Buffer
	err := csv.NewWriter(&b).WriteAll(rows)
	a.Body = b.Bytes()
	return err == nil
}

func isNumber(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil
}

// asNumber takes the numbers of texts for what they are.
func asNumber(s string) any {
	if isNumber(s) {
		return json.Number(s)
	}
	return s
}

func asText(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	}
	return "", false
}
