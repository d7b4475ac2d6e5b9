package script

import (
	"fmt"
	"path"
	"slices"

	"github.com/evanw/esbuild/pkg/api"

	"whittle"
)

// isTypeScript reports whether a file is TypeScript, by its name.
func isTypeScript(file string) bool {
	return slices.Contains([]string{".ts", ".tsx", ".mts", ".cts"}, path.Ext(file))
}

// compileTypeScript compiles a module in TypeScript, or one in JavaScript that has what the
// engine has not (asynchronous generators). Its types are taken away, not
// checked, by esbuild, as Artillery does it. Errors name the places of the source.
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
		Sourcemap: api.SourceMapInline, SourcesContent: api.SourcesContentExclude, LogLevel: api.LogLevelSilent,
	})
	if len(out.Errors) > 0 {
		m, at := out.Errors[0], file
		if l := m.Location; l != nil {
			at = fmt.Sprintf("%s:%d:%d", file, l.Line, l.Column+1)
		}
		return nil, whittle.Errorf(whittle.Invalid, "%s: %s", at, m.Text)
	}
	// The map that is read is the one in the last line, which esbuild has written.
	return compile(file, head+string(out.Code)+foot)
}
