// Package sourcemap reads source maps, version 3: where in its sources a place of a
// generated script comes from. What comes from outside is bounded.
package sourcemap

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// MaxSegments bounds a map.
const MaxSegments = 4 << 20

// Place is a place in a source; line and column count from 1.
type Place struct {
	Source       string // as the map names it, below its sourceRoot; "": it has no name
	Line, Column int
	Name         string // what stands there is called, if the map says so
}

// Map leads from a script to its sources.
type Map struct {
	// Sources are the sources' names, and Contents their texts, as far as the map has them.
	Sources  []string
	Contents map[string]string
	names    []string
	lines    [][]segment
	total    int // of segments
}

// segment is where a stretch of a generated line comes from.
type segment struct {
	column                     int32 // generated, from 0
	source, line, from, called int32 // called: of names, -1: none
}

// maxLine bounds the line at which a section begins.
const maxLine = 1 << 21

// file is a map as it is written. One has mappings, or sections that have.
type file struct {
	Version  int       `json:"version"`
	Root     string    `json:"sourceRoot"`
	Sources  []*string `json:"sources"` // null: it has no name
	Contents []*string `json:"sourcesContent"`
	Names    []string  `json:"names"`
	Mappings string    `json:"mappings"`
	Sections []struct {
		Offset struct {
			Line   int32 `json:"line"`
			Column int32 `json:"column"`
		} `json:"offset"`
		Map *file `json:"map"`
	} `json:"sections"`
}

// Parse reads a map, also one of sections, as bundlers of bundles write it.
func Parse(b []byte) (*Map, error) {
	b = bytes.TrimPrefix(b, []byte(")]}'"))
	var in file
	if err := json.Unmarshal(b, &in); err != nil {
		return nil, fmt.Errorf("read source map: %w", err)
	}
	if in.Version != 3 {
		return nil, fmt.Errorf("read source map: version %d, not 3", in.Version)
	}
	m := &Map{Contents: map[string]string{}}
	if err := m.add(&in, 0, 0); err != nil {
		return nil, err
	}
	for _, section := range in.Sections {
		at := section.Offset
		if section.Map == nil || len(section.Map.Sections) > 0 || at.Line < 0 || at.Line > maxLine || at.Column < 0 {
			return nil, errors.New("read source map: a section without a map of its own, or at no place")
		}
		if err := m.add(section.Map, int(at.Line), at.Column); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// add takes in a map that begins at a line and column, both from 0.
func (m *Map) add(in *file, line int, column int32) error {
	part := &Map{names: in.Names, total: m.total}
	for i, source := range in.Sources {
		s := ""
		if source != nil {
			s = below(in.Root, *source)
		}
		part.Sources = append(part.Sources, s)
		if s != "" && i < len(in.Contents) && in.Contents[i] != nil {
			m.Contents[s] = *in.Contents[i]
		}
	}
	if err := part.decode(in.Mappings); err != nil {
		return err
	}
	m.total = part.total
	for n, segments := range part.lines {
		for len(m.lines) <= line+n {
			m.lines = append(m.lines, nil)
		}
		for _, s := range segments {
			if n == 0 {
				s.column += column
			}
			if s.source >= 0 {
				s.source += int32(len(m.Sources))
			}
			if s.called >= 0 {
				s.called += int32(len(m.names))
			}
			m.lines[line+n] = append(m.lines[line+n], s)
		}
	}
	m.Sources, m.names = append(m.Sources, part.Sources...), append(m.names, part.names...)
	return nil
}

// below gives a source's name below its sourceRoot.
func below(root, source string) string {
	if root == "" || source == "" || strings.Contains(source, "://") || path.IsAbs(source) {
		return source
	}
	if strings.Contains(root, "://") {
		return strings.TrimSuffix(root, "/") + "/" + source
	}
	return path.Join(root, source)
}

// decode reads the mappings: base64 numbers of variable length, each a difference.
func (m *Map) decode(text string) error {
	var at segment
	var line []segment
	fields, count := [5]int32{}, 0
	end := func() error {
		if count == 0 {
			return nil
		}
		at.column += fields[0]
		s := segment{column: at.column, source: -1, called: -1}
		if count >= 4 {
			at.source, at.line, at.from = at.source+fields[1], at.line+fields[2], at.from+fields[3]
			if at.source < 0 || int(at.source) >= len(m.Sources) || at.line < 0 || at.from < 0 {
				return errors.New("read source map: a mapping leads nowhere")
			}
			s.source, s.line, s.from = at.source, at.line, at.from
		}
		if count == 5 {
			at.called += fields[4]
			if at.called < 0 || int(at.called) >= len(m.names) {
				return errors.New("read source map: a mapping has no name")
			}
			s.called = at.called
		}
		if m.total++; m.total > MaxSegments {
			return fmt.Errorf("read source map: more than %d mappings", MaxSegments)
		}
		line, count = append(line, s), 0
		return nil
	}
	for i := 0; i < len(text); {
		switch text[i] {
		case ',', ';':
			if err := end(); err != nil {
				return err
			}
			if text[i] == ';' {
				m.lines, line, at.column = append(m.lines, line), nil, 0
			}
			i++
			continue
		}
		v, n := number(text[i:])
		if n == 0 || count == len(fields) {
			return errors.New("read source map: its mappings are no numbers")
		}
		fields[count] = v
		count++
		i += n
	}
	if err := end(); err != nil {
		return err
	}
	m.lines = append(m.lines, line)
	return nil
}

const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// number reads one number, and says how long it is. 0: there is none.
func number(text string) (v int32, length int) {
	var sum uint32
	for i := 0; i < len(text) && i < 7; i++ {
		d := strings.IndexByte(digits, text[i])
		if d < 0 {
			return 0, 0
		}
		sum |= uint32(d&31) << (5 * i)
		if d&32 == 0 {
			v = int32(sum >> 1)
			if sum&1 != 0 {
				v = -v
			}
			return v, i + 1
		}
	}
	return 0, 0
}

// At gives where a place comes from; line and column count from 1. What stands before
// a line's first mapping comes from nowhere.
func (m *Map) At(line, column int) (Place, bool) {
	if line < 1 || line > len(m.lines) {
		return Place{}, false
	}
	all := m.lines[line-1]
	n, exact := slices.BinarySearchFunc(all, int32(column-1), func(s segment, c int32) int { return int(s.column) - int(c) })
	if !exact {
		n--
	}
	if n < 0 || all[n].source < 0 {
		return Place{}, false
	}
	return m.place(all[n]), true
}

// Lines gives the lines of a source that a generated line comes from, and of how many of
// its mappings each is.
func (m *Map) Lines(line int, source string) map[int]int {
	out := map[int]int{}
	if line < 1 || line > len(m.lines) {
		return out
	}
	for _, s := range m.lines[line-1] {
		if s.source >= 0 && m.Sources[s.source] == source {
			out[int(s.line)+1]++
		}
	}
	return out
}

func (m *Map) place(s segment) Place {
	p := Place{Source: m.Sources[s.source], Line: int(s.line) + 1, Column: int(s.from) + 1}
	if s.called >= 0 {
		p.Name = m.names[s.called]
	}
	return p
}

// Of gives the address of a script's map, by the comment at the script's end. "": it
// names none.
func Of(script string) string {
	tail := script[max(0, len(script)-maxComment):]
	for _, mark := range []string{"//# sourceMappingURL=", "//@ sourceMappingURL="} {
		if n := strings.LastIndex(tail, mark); n >= 0 {
			address, _, _ := strings.Cut(tail[n+len(mark):], "\n")
			return strings.TrimSpace(address)
		}
	}
	return ""
}

// maxComment bounds the comment: a map may be in it, as a data URL.
const maxComment = 16 << 20
