package config

import (
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
)

// explored is what a config may hold, found by reading made-up ones: every field is
// tried as a single value, a mapping and a list, in a config in which everything else
// is given, until no field comes up that was not known. Fields that are asked for only
// where others are given are found so, and a field that somebody adds to the reader is
// found without anybody naming it here.
type explored struct {
	kinds   map[string]map[kind]bool
	samples map[string]string
	misses  map[string]bool
	survey
}

// anyKey is a key that nobody's mapping has, and that is good where keys are names of
// fields, JSON paths or headers.
const anyKey = "$.any"

// explore reads until nothing new comes up.
var explore = sync.OnceValue(func() *explored {
	x := &explored{kinds: map[string]map[kind]bool{"": {isMapping: true}}, samples: map[string]string{}, misses: map[string]bool{}, survey: *newSurvey()}
	x.read(x.whole("", nil))
	for found := true; found; {
		found = false
		for _, path := range slices.Sorted(maps.Keys(x.kinds)) {
			if len(x.kinds[path]) == 0 {
				for _, k := range []kind{isScalar, isMapping, isSequence} {
					x.try(path, k)
				}
				found = found || len(x.kinds[path]) > 0
			}
		}
	}
	return x
})

func newSurvey() *survey {
	return &survey{
		keys: map[string][]string{}, texts: map[string]func(string) error{}, lists: map[string]int{},
		mappings: map[string]bool{}, closed: map[string]bool{},
	}
}

// try reads a config in which the field is of a kind, and notes whether it was taken as
// one.
func (x *explored) try(path string, k kind) {
	s := x.read(x.whole("", forced(path, k)))
	_, list := s.lists[path]
	list = list || s.texts[path+"[]"] != nil
	switch {
	case k == isScalar && s.texts[path] != nil, k == isMapping && s.mappings[path], k == isSequence && list:
		x.kinds[path][k] = true
	}
}

// forced says of which kind a field is to be, and what it is in.
func forced(path string, k kind) map[string]kind {
	as := map[string]kind{path: k}
	for i := range path {
		switch path[i] {
		case '.':
			if path[i-1] != '$' && path[i-1] != ']' {
				as[path[:i]] = isMapping
			}
		case '[':
			as[path[:i]] = isSequence
		}
	}
	return as
}

// read surveys one reading and adds what it asked for to what is known.
func (x *explored) read(root *node) *survey {
	s, _ := surveyed(root)
	note := func(path string) {
		if x.kinds[path] == nil {
			x.kinds[path] = map[kind]bool{}
		}
	}
	for mapping, keys := range s.keys {
		for _, key := range keys {
			if !slices.Contains(x.keys[mapping], key) {
				x.keys[mapping] = append(x.keys[mapping], key)
			}
			note(below(mapping, key))
		}
	}
	for mapping := range s.mappings {
		if !s.closed[mapping] {
			note(below(mapping, anyKey))
		}
	}
	for list := range s.lists {
		note(list + "[]")
	}
	for text := range s.texts {
		note(text)
	}
	maps.Copy(x.texts, s.texts)
	maps.Copy(x.lists, s.lists)
	maps.Copy(x.mappings, s.mappings)
	maps.Copy(x.closed, s.closed)
	return s
}

// surveyed reads a made-up config, with its faults.
func surveyed(root *node) (*survey, []problem) {
	r := newReader("whittle.yaml")
	r.survey = newSurvey()
	r.env = func(string) (string, bool) { return strings.Repeat("token", 7), true }
	r.file(root, func(string) ([]byte, error) { return nil, fs.ErrNotExist })
	return r.survey, r.problems
}

func below(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// whole is a config in which everything known is given, with some fields of another
// kind than they are given otherwise; isNull leaves a field out.
func (x *explored) whole(path string, as map[string]kind) *node {
	k, given := as[path]
	if !given {
		switch kinds := x.kinds[path]; {
		case kinds[isMapping]:
			k = isMapping
		case kinds[isSequence]:
			k = isSequence
		default:
			k = isScalar
		}
	}
	n := &node{kind: k}
	switch k {
	case isScalar:
		n.text = x.sample(path)
	case isSequence:
		n.items = []*node{x.whole(path+"[]", as)}
	case isMapping:
		keys := x.keys[path]
		if !x.closed[path] {
			keys = append(slices.Clone(keys), anyKey)
		}
		for _, key := range keys {
			if given, out := as[below(path, key)]; out && given == isNull {
				continue
			}
			n.entries = append(n.entries, entry{key: key, value: x.whole(below(path, key), as)})
		}
	}
	return n
}

// sample is a text that the field takes, if one of those that are tried is.
func (x *explored) sample(path string) string {
	taken := x.texts[path]
	if taken == nil {
		return "x"
	}
	if _, known := x.samples[path]; !known {
		x.samples[path] = sampleOf(taken)
	}
	return x.samples[path]
}

func sampleOf(taken func(string) error) string {
	if u, ok := errors.AsType[*unknownWord](taken("no such word")); ok {
		return u.words[0]
	}
	for _, f := range families {
		if text, ok := f.taken(taken, nil); ok {
			return text
		}
	}
	return "x"
}

// required reports whether the reader misses the field, whatever else is given.
func (x *explored) required(mapping, key string) bool {
	path := below(mapping, key)
	if known, ok := x.misses[path]; ok {
		return known
	}
	misses := func(root *node) bool {
		_, problems := surveyed(root)
		return slices.ContainsFunc(problems, func(p problem) bool {
			return withoutIndices(p.field) == path && strings.HasPrefix(p.text, "is missing")
		})
	}
	alone := map[string]kind{}
	for _, other := range x.keys[mapping] {
		alone[below(mapping, other)] = isNull
	}
	x.misses[path] = misses(x.whole("", map[string]kind{path: isNull})) && misses(x.whole("", alone))
	return x.misses[path]
}

// faultsAt are the problems of the field itself where it is of a kind, and was changed.
func (x *explored) faultsAt(path string, k kind, change func(*node)) []string {
	root := x.whole("", forced(path, k))
	at := []*node{root}
	for _, part := range strings.Split(strings.ReplaceAll(path, "[]", ".[]"), ".") {
		var next []*node
		for _, n := range at {
			next = append(next, n.items...)
			for i := range n.entries {
				if n.entries[i].key == part {
					next = append(next, n.entries[i].value)
				}
			}
		}
		at = next
	}
	for _, n := range at {
		change(n)
	}
	_, problems := surveyed(root)
	var texts []string
	for _, p := range problems {
		if withoutIndices(p.field) == path {
			texts = append(texts, p.text)
		}
	}
	return texts
}
