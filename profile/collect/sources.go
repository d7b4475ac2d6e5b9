package collect

import (
	"context"
	"path/filepath"
	"strings"

	"whittle/internal/jscode"
	"whittle/internal/sourcemap"
	"whittle/profile"
)

// maxFetched is how many scripts a process is asked for that are not on this machine.
const maxFetched = 32

// sources are the texts of a profile's own scripts, and where these come from.
type sources struct {
	ctx context.Context //nolint:containedctx // of one reading
	i   *inspector      // the process. nil: the profile was saved
	r   *routes
	// maps lead from scripts, by file, to what they were generated from.
	maps map[string]*sourcemap.Map
}

// readLines adds to a Node profile what only the sources show: V8's built-in functions,
// where functions end, the lines of callers where the source has but one, and the sources
// that a script was generated from. What is not shown by them is left unknown: a line
// is never one of another file, nor outside of its function.
func readLines(ctx context.Context, i *inspector, p *profile.Profile) {
	s := &sources{ctx: ctx, i: i, r: newRoutes(), maps: map[string]*sourcemap.Map{}}
	s.read(p)
	s.r.labelBuiltins(p)
	for n := range p.Functions {
		if f := &p.Functions[n]; f.Owner == profile.Own && f.File != "" {
			f.Ends = jscode.End(s.r.lines(f.File), f.Line, f.Column)
		}
	}
	for n := range p.Samples {
		s.complete(p, p.Samples[n].Stack)
	}
	s.mapBack(p)
}

// read gets the texts of the scripts that the profile's own functions are of.
func (s *sources) read(p *profile.Profile) {
	var missing []*profile.Function
	asked := map[string]bool{}
	for n := range p.Functions {
		f := &p.Functions[n]
		if f.Owner != profile.Own || f.File == "" || asked[f.File] || f.Line < 1 {
			continue
		}
		lines := s.r.lines(f.File)
		if s.i != nil && f.Script != "" && !plausible(f, lines) {
			missing = append(missing, f)
			asked[f.File] = true
		}
	}
	s.fetch(missing)
	for file, lines := range s.r.files {
		if m := readMap(file, lines); m != nil {
			s.maps[file] = m
		}
	}
}

// plausible reports whether a function may begin where V8 says, in the text that is on
// the disk: the process may run another one, which it was given before, or which was
// made while it was loaded.
func plausible(f *profile.Function, lines []string) bool {
	if f.Line > len(lines) || f.Column < 1 || f.Column > len(lines[f.Line-1]) || filepath.Ext(f.File) == ".ts" || filepath.Ext(f.File) == ".tsx" {
		return false
	}
	text := lines[f.Line-1]
	name := f.Name[strings.LastIndexAny(f.Name, ". ")+1:]
	return strings.IndexByte(");,}]", text[f.Column-1]) < 0 && (strings.HasPrefix(f.Name, "(") || strings.HasPrefix(f.Name, handlerOf) || strings.Contains(text, name))
}

// handlerOf begins the name that an endpoint's function gets if it has none.
const handlerOf = "handler of "

// fetch asks the process for scripts. For that the debugger is switched on, which is not
// done where the disk has them.
func (s *sources) fetch(functions []*profile.Function) {
	if len(functions) == 0 || s.i == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), responseTimeout)
	defer cancel()
	// First, so that the application never pauses at a debugger statement of its own.
	if s.i.call(ctx, "Debugger.setSkipAllPauses", map[string]any{"skip": true}, nil) != nil || s.i.call(ctx, "Debugger.enable", nil, nil) != nil {
		return
	}
	for _, f := range functions[:min(len(functions), maxFetched)] {
		var r struct {
			Source string `json:"scriptSource"`
		}
		if s.i.call(ctx, "Debugger.getScriptSource", map[string]any{"scriptId": f.Script}, &r) == nil && len(r.Source) <= maxSource {
			s.r.files[f.File] = strings.Split(r.Source, "\n")
		}
	}
	_ = s.i.call(ctx, "Debugger.disable", nil, nil) // the session's end does, too
}

// complete gives the frames of the service's own their lines, as far as the source
// shows them, and takes those away that cannot be.
func (s *sources) complete(p *profile.Profile, stack []profile.Frame) {
	for depth := range stack {
		f := &p.Functions[stack[depth].Function]
		if f.Owner != profile.Own {
			continue
		}
		lines := s.r.lines(f.File)
		at := int(stack[depth].Line)
		switch {
		case at > len(lines) && len(lines) > 0 || at != 0 && at < f.Line || f.Ends > 0 && at > f.Ends:
			at = 0
		case at == 0 && depth > 0:
			at = callLine(f, &p.Functions[stack[depth-1].Function], lines)
		}
		if at == 0 && f.Ends == f.Line {
			at = f.Line
		}
		stack[depth].Line = int32(at)
	}
}

// callLine gives the line at which a function calls another one. 0: it is not known.
func callLine(f, callee *profile.Function, lines []string) int {
	if f.Ends == 0 {
		return 0
	}
	if pattern, ok := strings.CutPrefix(callee.Name, profile.RegExpOf); ok && callee.Owner == profile.System {
		return matchLine(lines, f.Line, f.Ends, pattern)
	}
	if at := jscode.CallLine(lines, f.Line, f.Ends, append([]string{callee.Name}, aliases(callee)...)...); at != 0 {
		return at
	}
	unnamed := strings.HasPrefix(callee.Name, "(") || strings.HasPrefix(callee.Name, handlerOf)
	if unnamed && callee.Script == f.Script && callee.Line > f.Line && callee.Line <= f.Ends {
		return callee.Line // one that is handed to what calls it
	}
	return 0
}

// aliases are the other names by which the service's code calls a function of Node's own.
func aliases(callee *profile.Function) []string {
	switch {
	case callee.File == "node:zlib" && callee.Name == "syncBufferWrapper":
		return zlibSync
	case callee.File == "node:http" || callee.File == "node:https" || callee.File == "node:_http_client":
		return httpRequests // one calls the other, which V8 inlines
	case callee.File == "node:internal/crypto/cipher" && callee.Name == profile.Anonymous:
		return cryptoByKey
	case strings.HasPrefix(callee.File, "node:internal/console/"), callee.File == "" && callee.Name == "consoleCall": // so while the inspector listens
		return consoleMethods
	}
	return nil
}

// The functions of Node's modules that have one name in V8's profiles, or none.
var (
	zlibSync = []string{
		"gzipSync", "gunzipSync", "deflateSync", "inflateSync", "deflateRawSync", "inflateRawSync", "unzipSync",
		"brotliCompressSync", "brotliDecompressSync", "zstdCompressSync", "zstdDecompressSync",
	}
	httpRequests   = []string{"get", "request"}
	cryptoByKey    = []string{"publicEncrypt", "publicDecrypt", "privateEncrypt", "privateDecrypt"}
	consoleMethods = []string{"log", "info", "debug", "warn", "error", "trace", "dir", "table"}
)
