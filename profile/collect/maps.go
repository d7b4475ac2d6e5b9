package collect

import (
	"encoding/base64"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"whittle/internal/jscode"
	"whittle/internal/sourcemap"
	"whittle/profile"
)

// maxMap bounds a source map.
const maxMap = 64 << 20

// readMap reads the map of a script, which it names at its end; a map that it does not
// name lies next to it, and is as new. nil: it has none that can be read.
func readMap(file string, lines []string) *sourcemap.Map {
	if len(lines) == 0 {
		return nil
	}
	at := sourcemap.Of(strings.Join(lines[max(0, len(lines)-5):], "\n"))
	var b []byte
	var err error
	if data, inline := strings.CutPrefix(at, "data:"); inline {
		head, body, _ := strings.Cut(data, ",")
		if !strings.HasSuffix(head, ";base64") {
			return nil
		}
		b, err = base64.StdEncoding.DecodeString(body)
	} else {
		b, err = readMapFile(file, at)
	}
	if err != nil || b == nil {
		return nil
	}
	m, err := sourcemap.Parse(b)
	if err != nil {
		return nil
	}
	return m
}

// readMapFile reads the map that a script on the disk names; "": the one next to it.
func readMapFile(file, at string) ([]byte, error) {
	if !filepath.IsAbs(file) || strings.Contains(at, "://") {
		return nil, nil
	}
	name, err := url.PathUnescape(at)
	if err != nil {
		return nil, err
	}
	script, err := os.Stat(file)
	if name = relativeTo(file, name); at == "" {
		if name = file + ".map"; err != nil {
			return nil, err
		}
	}
	s, unread := os.Stat(name)
	if unread != nil || !s.Mode().IsRegular() || s.Size() > maxMap || at == "" && s.ModTime().Before(script.ModTime().Add(-time.Minute)) {
		return nil, unread
	}
	return os.ReadFile(name)
}

// relativeTo gives the path of a file that another one names.
func relativeTo(file, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(file), filepath.FromSlash(name))
}

// mapBack names functions, files and lines as the sources do that scripts were
// generated from.
func (s *sources) mapBack(p *profile.Profile) {
	if len(s.maps) == 0 {
		return
	}
	of := make([]*mapped, len(p.Functions))
	texts := map[*sourcemap.Map]map[string][]string{} // of the sources, by lines: a bundle has many functions of each
	for n := range p.Functions {
		f := &p.Functions[n]
		m := s.maps[f.File]
		if m == nil || f.Owner != profile.Own {
			continue
		}
		at, ok := m.At(f.Line, f.Column)
		if !ok {
			f.Owner = profile.Library // what made the bundle
			continue
		}
		if at.Source == "" {
			continue // its source has no name: the script's own lines say more
		}
		of[n] = &mapped{m: m, source: at.Source, begins: f.Line, known: map[int32]int32{}}
		file := sourceFile(f.File, at.Source)
		f.File, f.Line, f.Column, f.Owner, f.Ends = profile.ShortFile(file), at.Line, at.Column, profile.OwnerOfScript(file), 0
		if at.Name != "" && !strings.HasPrefix(f.Name, handlerOf) {
			f.Name = at.Name
		}
		lines := s.r.lines(file)
		if text, has := m.Contents[at.Source]; has {
			if lines = texts[m][at.Source]; lines == nil {
				if texts[m] == nil {
					texts[m] = map[string][]string{}
				}
				lines = strings.Split(text, "\n")
				texts[m][at.Source] = lines
			}
		}
		f.Ends = jscode.End(lines, f.Line, f.Column)
		of[n].lines = lines
	}
	for i := range p.Samples {
		for depth, frame := range p.Samples[i].Stack {
			if m := of[frame.Function]; m != nil {
				p.Samples[i].Stack[depth].Line = m.line(&p.Functions[frame.Function], frame.Line)
			}
		}
	}
}

// mapped is a function that its source map leads to a source.
type mapped struct {
	m      *sourcemap.Map
	source string   // as the map names it
	lines  []string // of it
	begins int      // the line of the script at which the function does
	known  map[int32]int32
}

// line gives the line of the source that a line of the script comes from. 0: it is not
// known, as of a minified script, where the line that holds all of a function is of
// several.
func (m *mapped) line(f *profile.Function, of int32) int32 {
	line, ok := m.known[of]
	if !ok {
		line = int32(m.find(f, int(of)))
		m.known[of] = line
	}
	return line
}

func (m *mapped) find(f *profile.Function, of int) int {
	best, counts := 0, m.m.Lines(of, m.source)
	maps.DeleteFunc(counts, func(line, _ int) bool { return line < f.Line || f.Ends > 0 && line > f.Ends })
	if of == m.begins && len(counts) > 1 { // what only begins and ends the function runs nothing
		maps.DeleteFunc(counts, func(line, _ int) bool {
			return line == f.Line || line == f.Ends && strings.Trim(m.lines[line-1], " \t\r})];,") == ""
		})
		if len(counts) > 1 {
			return 0
		}
	}
	for line, n := range counts {
		if best == 0 || n > counts[best] || n == counts[best] && line < best {
			best = line
		}
	}
	return best
}

// sourceFile gives the path of a source: a bundler names it by a URL of its own.
func sourceFile(script, source string) string {
	if _, rest, ok := strings.Cut(source, "://"); ok {
		if strings.HasPrefix(source, "file://") {
			return unescaped(rest)
		}
		_, rest, _ = strings.Cut(rest, "/") // webpack://NAME/./src/a.ts
		if strings.HasPrefix(rest, "webpack/") {
			return "node_modules/" + rest // what webpack itself adds
		}
		return above(script, path.Clean(strings.TrimSuffix(rest, "?")))
	}
	return unescaped(relativeTo(script, source))
}

// unescaped gives the path of a file whose name is a URL's, as of Next's "[id]". A file that
// is called so as it stands keeps its name.
func unescaped(file string) string {
	name, err := url.PathUnescape(file)
	if _, missing := os.Stat(file); err != nil || missing == nil {
		return file
	}
	return name
}

// above finds a file that a bundler names from its own working folder on: one of the
// folders above the script. Where it is in none, the name stays.
func above(script, name string) string {
	for folder := filepath.Dir(script); filepath.IsAbs(folder) && !filepath.IsAbs(name); folder = filepath.Dir(folder) {
		at := filepath.Join(folder, name)
		if s, err := os.Stat(at); err == nil && s.Mode().IsRegular() {
			return at
		}
		if folder == filepath.Dir(folder) {
			break
		}
	}
	return name
}
