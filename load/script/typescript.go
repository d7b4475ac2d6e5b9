package script

import (
	"encoding/base64"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"

	"whittle"
)

// isTypeScript reports whether a file is TypeScript, by its name.
func isTypeScript(file string) bool {
	return slices.Contains([]string{".ts", ".tsx", ".mts", ".cts"}, path.Ext(file))
}

// compileTypeScript compiles a module in TypeScript, or one in JavaScript with what the
// engine lacks: import and export, asynchronous generators. As by Artillery, esbuild takes
// the types away and does not check them. Errors name the places of the source.
func compileTypeScript(file, src, head, foot string) (*Program, error) {
	if err := checkNesting(file, src); err != nil {
		return nil, err
	}
	loader := api.LoaderTS
	switch {
	case path.Ext(file) == ".tsx":
		loader = api.LoaderTSX
	case !isTypeScript(file):
		loader = api.LoaderJS
	}
	out := api.Transform(src, api.TransformOptions{
		Loader: loader, Format: api.FormatCommonJS, Platform: api.PlatformNode, Sourcefile: file,
		Target: api.ES2022, Supported: map[string]bool{"async-generator": false, "for-await": false}, // what the engine has not
		Sourcemap: api.SourceMapExternal, SourcesContent: api.SourcesContentExclude, LogLevel: api.LogLevelSilent,
	})
	if len(out.Errors) > 0 {
		m, at := out.Errors[0], file
		if l := m.Location; l != nil {
			at = fmt.Sprintf("%s:%d:%d", file, l.Line, l.Column+1)
		}
		if strings.HasPrefix(m.Text, "Top-level await") {
			return nil, whittle.Errorf(whittle.Unsupported, "%s: %s: await outside of a function is not supported", at, m.Text)
		}
		return nil, whittle.Errorf(whittle.Invalid, "%s: %s", at, m.Text)
	}
	for _, w := range out.Warnings {
		if w.ID == "empty-import-meta" { // esbuild would put an empty object there
			return nil, whittle.Errorf(whittle.Unsupported, "%s:%d:%d: import.meta is not supported", file, w.Location.Line, w.Location.Column+1)
		}
	}
	// The map that is read is the one in the last line. Its columns are from 0, and the
	// engine's from 1: a place is the difference to the one before, so one that is put
	// before all moves them.
	places := strings.Replace(string(out.Map), `"mappings": "`, `"mappings": "AAAC,`, 1)
	places = strings.Replace(places, "AAAC,;", "AAAC;", 1)
	return compile(file, head+string(out.Code)+"//# sourceMappingURL=data:application/json;base64,"+base64.StdEncoding.EncodeToString([]byte(places))+foot)
}
