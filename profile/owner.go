package profile

import (
	"net/url"
	"slices"
	"strings"
)

// standardRoots are the first path elements of Go's standard library. A
// module's path has a dot in its first element, or is the program's own.
var standardRoots = set(`archive bufio builtin bytes cmp compress container context crypto database debug embed
	encoding errors expvar flag fmt go hash html image index internal io iter log maps math mime net os path plugin
	reflect regexp runtime slices sort strconv strings structs sync syscall testing text time unicode unique unsafe
	vendor weak`)

func set(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

// PackageOf gives the import path of the package of a Go function's name:
// "net/http" of "net/http.(*conn).serve".
func PackageOf(name string) string {
	if i := strings.IndexByte(name, '['); i >= 0 { // type arguments have paths of their own
		name = name[:i]
	}
	slash := strings.LastIndexByte(name, '/') + 1
	dot := strings.IndexByte(name[slash:], '.')
	if dot < 0 {
		return ""
	}
	return name[:slash+dot]
}

// WithoutTypes drops the type arguments of a Go function's name: "main.(*Cache).Get" of
// "main.(*Cache[...]).Get". What begins with a bracket is no such name, and stays: JavaScript's
// "[Symbol.iterator]", and "[unknown]" where a tool knew none.
func WithoutTypes(name string) string {
	before, rest, _ := strings.Cut(name, "[")
	end := strings.LastIndexByte(rest, ']')
	if before == "" || end < 0 {
		return name
	}
	return before + rest[end+1:]
}

// ShortName drops the path of a Go function's package, and its type arguments. Names of
// other runtimes that have a space in them, such as a regular expression's, stay.
func ShortName(name string) string {
	if short := WithoutTypes(name); !strings.Contains(short, " ") {
		return short[strings.LastIndexByte(short, '/')+1:]
	}
	return name
}

// goOwner finds whose a Go function is by its package and its file. A build
// with -trimpath names a dependency's files with "@version"; one without has
// them below the module cache, which does too.
func goOwner(pkg, file string) Owner {
	root, _, _ := strings.Cut(pkg, "/")
	switch {
	case pkg == "": // assembly and cgo: no package, nothing of the service's
		return System
	case pkg == "runtime" || strings.HasPrefix(pkg, "runtime/internal/") || strings.HasPrefix(pkg, "internal/runtime/"):
		return System
	case strings.Contains(file, "@v") || strings.Contains(file, "/vendor/"):
		return Library
	case standardRoots[root] || standardFile(file):
		return Standard
	case generated(file):
		return Library
	case file == "" && strings.Contains(root, "."):
		return Library
	default:
		return Own
	}
}

// standardFile says that a file is the standard library's: a closure of its functions,
// where these are inlined, has the name of the function that called them.
func standardFile(file string) bool {
	root, _, below := strings.Cut(ShortFile(file), "/")
	return below && standardRoots[root]
}

// generated says that a file was made from a contract: nobody's line to mend.
func generated(file string) bool {
	return slices.ContainsFunc(generators, func(suffix string) bool { return strings.HasSuffix(file, suffix) })
}

// generators are what generators end their files' names in.
var generators = strings.Fields(`.pb.go .pb.gw.go .twirp.go .connect.go _gen.go .gen.go`)

// DenoScheme begins the URLs of Deno's own scripts.
const DenoScheme = "ext:"

// OwnerOfScript finds whose a function under V8 is by its script's URL.
func OwnerOfScript(url string) Owner {
	switch {
	case url == "": // native, or V8's own words: (program)
		return System
	case strings.HasPrefix(url, "node:") || strings.HasPrefix(url, "internal/") || strings.HasPrefix(url, DenoScheme):
		return Standard
	case strings.Contains(url, "/node_modules/") || strings.HasPrefix(url, "node_modules/"):
		return Library
	default:
		return Own
	}
}

// ShortFile drops what precedes the part of a path that distinguishes files: the
// module cache's folder, GOROOT, a URL's scheme.
func ShortFile(path string) string {
	if file, ok := strings.CutPrefix(path, "file://"); ok { // of a module, its name escaped
		path = file
		if name, err := url.PathUnescape(file); err == nil {
			path = name
		}
	}
	for _, scheme := range []string{"webpack-internal:///", "webpack:///"} { // webpack's eval
		if name, ok := strings.CutPrefix(path, scheme); ok {
			path = strings.TrimSuffix(strings.TrimPrefix(name, "./"), "?")
		}
	}
	for _, root := range []struct{ folder, kept string }{{"/pkg/mod/", ""}, {"/", "node_modules/"}, {"/go/src/", ""}} {
		if i := strings.LastIndex(path, root.folder+root.kept); i >= 0 {
			return path[i+len(root.folder):]
		}
	}
	return path
}
