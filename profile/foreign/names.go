package foreign

import (
	_ "embed"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"whittle/profile"
)

// pythonModules are the modules of Python's standard library, by sys.stdlib_module_names
// of Python 3.11: py-spy names their files from their folder on.
//
//go:embed python.txt
var pythonModules string

// standardPython are the same as a set.
var standardPython = func() map[string]bool {
	set := map[string]bool{}
	for name := range strings.FieldsSeq(pythonModules) {
		set[name] = true
	}
	return set
}()

var (
	// withFile is "work (shop/prices.py:7)", as py-spy and others write it.
	withFile = regexp.MustCompile(`^(.+) \(([^()]+?)(?::(\d+))?\)$`)
	// javaKind is what async-profiler appends with --ann.
	javaKind = regexp.MustCompile(`_\[[jik01]\]$`)
	// javaName is "com/example/Shop$Row.price", or the same with dots.
	javaName = regexp.MustCompile(`^((?:[\w$]+[/.])+[A-Z][\w$]*(?:\.0x[0-9a-f]+[^.]*)?)\.([\w$<>]+)$`)
	// jitName is V8's, in perf's map of a Node process: "LazyCompile:*work /srv/app.js:7".
	jitName = regexp.MustCompile(`^(?:LazyCompile|Function|JS|Script|Eval):[~*^+]?(\S*) (\S+?):(\d+)(?::\d+)?$`)
	// pythonName is Python's own, in perf's map: "py::work:/srv/app.py".
	pythonName = regexp.MustCompile(`^py::(.+?):(/?[^:]+\.py|<[^>]+>)$`)
	// javaMap is perf-map-agent's: "Lcom/example/Shop;::price".
	javaMap = regexp.MustCompile(`^L([\w/$]+);::([\w$<>]+)`)
)

// named reads a frame's text.
func named(text string) frame {
	if m := withFile.FindStringSubmatch(text); m != nil {
		line, _ := strconv.Atoi(m[3])
		return withSource(m[1], m[2], line)
	}
	return ofName(text)
}

// withSource is a function of a file.
func withSource(name, file string, line int) frame {
	f := frame{Function: profile.Function{Name: name, File: file}, at: line}
	switch {
	case isPython(file):
		f.Owner = pythonOwner(file)
	case strings.HasSuffix(file, ".java"):
		f.Owner = javaOwner(file)
	case isScript(file):
		f.Owner = profile.OwnerOfScript(file)
	case isConsoleScript(file):
		f.Owner = profile.Library
	case strings.Contains(file, "/.cargo/") || strings.Contains(file, "/gems/"):
		f.Owner = profile.Library
	case strings.HasPrefix(file, "/rustc/") || strings.HasPrefix(file, "<") || strings.HasPrefix(file, "/usr/") || strings.HasPrefix(file, "/lib") || strings.HasPrefix(file, "["):
		f.Owner = profile.Standard
	}
	return f
}

// ofName is a function that is known by its name alone.
func ofName(name string) frame {
	if m := jitName.FindStringSubmatch(name); m != nil {
		line, _ := strconv.Atoi(m[3])
		f := withSource(orAnonymous(m[1]), m[2], line)
		f.Line, f.at = line, 0 // where the function begins
		f.Owner = profile.OwnerOfScript(m[2])
		return f
	}
	if m := pythonName.FindStringSubmatch(name); m != nil {
		return withSource(m[1], m[2], 0)
	}
	if m := javaMap.FindStringSubmatch(name); m != nil {
		return java(m[1], m[2])
	}
	if m := javaName.FindStringSubmatch(javaKind.ReplaceAllString(name, "")); m != nil && !strings.Contains(name, "::") {
		return java(strings.ReplaceAll(m[1], ".", "/"), m[2])
	}
	f := frame{Function: profile.Function{Name: name, Owner: profile.System}}
	if strings.HasSuffix(name, "_[k]") {
		f.Name, f.Category = strings.TrimSuffix(name, "_[k]"), profile.Syscall
	}
	return f
}

func orAnonymous(name string) string {
	if name == "" {
		return "(anonymous)"
	}
	return name
}

// java is a method; its file is that of the outermost class.
func java(class, method string) frame {
	outer, _, _ := strings.Cut(class, "$")
	return frame{Function: profile.Function{
		Name: strings.ReplaceAll(class, "/", ".") + "." + method, File: outer + ".java", Owner: javaOwner(class),
	}}
}

// The packages of the JDK and of libraries of Java by how they begin. What is in none of
// them is the service's own.
var (
	javaStandard  = strings.Fields(`java/ javax/ jdk/ sun/ com/sun/`)
	javaLibraries = strings.Fields(`org/springframework/ org/apache/ org/eclipse/ org/hibernate/ org/jboss/ org/slf4j/ org/postgresql/
	io/netty/ io/vertx/ io/undertow/ io/grpc/ io/micrometer/ io/opentelemetry/ io/quarkus/ io/micronaut/ reactor/ rx/
	com/fasterxml/ com/google/ com/zaxxer/ com/mysql/ com/mongodb/ com/github/ ch/qos/ kotlin/ kotlinx/ scala/ akka/ okhttp3/ okio/
	jakarta/ net/bytebuddy/ redis/ lombok/ groovy/ clojure/`)
)

func javaOwner(class string) profile.Owner {
	of := func(packages []string) bool {
		return slices.ContainsFunc(packages, func(p string) bool { return strings.HasPrefix(class, p) })
	}
	switch {
	case of(javaStandard):
		return profile.Standard
	case of(javaLibraries):
		return profile.Library
	}
	return profile.Own
}

func isPython(file string) bool {
	return strings.HasSuffix(file, ".py") || strings.HasSuffix(file, ".pyx") || strings.HasPrefix(file, "<frozen ") || file == "<string>"
}

func isScript(file string) bool {
	switch path.Ext(file) {
	case ".js", ".mjs", ".cjs", ".ts":
		return true
	}
	return strings.HasPrefix(file, "node:")
}

var pythonFolder = regexp.MustCompile(`/lib(64)?/(python|pypy)\d[\d.]*/`)

// pythonOwner finds whose a file is. A short one is the standard library's by its
// module's name; a dependency's cannot be told then.
func pythonOwner(file string) profile.Owner {
	root, _, _ := strings.Cut(strings.TrimSuffix(file, ".py"), "/")
	switch {
	case strings.Contains(file, "site-packages/") || strings.Contains(file, "dist-packages/"):
		return profile.Library
	case strings.HasPrefix(file, "<") || pythonFolder.MatchString(file) || standardPython[root]:
		return profile.Standard
	}
	return profile.Own
}

// runtimeOf is what a function shows of the process's runtime.
func runtimeOf(f *profile.Function) profile.Runtime {
	switch {
	case isPython(f.File):
		return profile.Python
	case strings.HasSuffix(f.File, ".java"):
		return profile.Java
	case isScript(f.File):
		return profile.Node
	}
	return profile.Native
}
