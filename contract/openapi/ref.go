package openapi

import (
	"cmp"
	"net/url"
	"path"
	"strings"

	"whittle"
)

// follow gives what a $ref names, and where that is, as "schemas/user.yaml#/User"; n
// itself where it is none.
func (r *reader) follow(n *node) (*node, string) {
	ref := ""
	for range maxRefs {
		next := n.get("$ref")
		if next == nil || next.kind != isText || next.text == "" {
			return n, ref
		}
		n, ref = r.target(next)
	}
	panic(invalid(n.at, "$ref %q leads through more than %d others, or in a circle", ref, maxRefs))
}

// target resolves a $ref by the file that it stands in: "#/components/schemas/User",
// "schemas/user.yaml", "../common.yaml#/Error" (RFC 3986, RFC 6901).
func (r *reader) target(ref *node) (*node, string) {
	file, pointer, _ := strings.Cut(ref.text, "#")
	if file == "" {
		file = ref.at.file
	} else {
		file = r.fileOf(ref, file)
	}
	n := r.root
	if file != "" {
		n = r.document(ref, file)
	}
	if pointer == "" && file != "" {
		return n, file + "#"
	}
	parts, ok := strings.CutPrefix(pointer, "/")
	if !ok {
		panic(invalid(ref.at, "$ref %q names no place by #/", ref.text))
	}
	for part := range strings.SplitSeq(parts, "/") {
		if unescaped, err := url.PathUnescape(part); err == nil {
			part = unescaped
		}
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		if n = n.get(part); n == nil {
			panic(invalid(ref.at, "$ref %q names nothing in the document", ref.text))
		}
	}
	return n, file + "#" + pointer
}

// fileOf is the file of a $ref, by its path from the document's folder; empty: the
// document itself.
func (r *reader) fileOf(ref *node, file string) string {
	if u, err := url.Parse(file); err != nil || u.IsAbs() || u.Host != "" || r.files == nil {
		panic(whittle.Errorf(whittle.Invalid, "%s: $ref %q is no file next to the document", ref.at, ref.text).
			WithHint("put what it names into a file there, or make one document of all with a bundler"))
	} else if u.Path != "" {
		file = u.Path
	}
	if path.IsAbs(file) {
		panic(invalid(ref.at, "$ref %q is no path from here: files are read from the document's folder and those in it", ref.text))
	}
	file = path.Join(path.Dir(cmp.Or(ref.at.file, r.name)), file)
	if file == ".." || strings.HasPrefix(file, "../") {
		panic(whittle.Errorf(whittle.Invalid, "%s: $ref %q leads out of the document's folder", ref.at, ref.text).
			WithHint("make one document of all with a bundler"))
	}
	if file == r.name {
		return ""
	}
	return file
}

// document reads a file once.
func (r *reader) document(ref *node, file string) *node {
	if n := r.docs[file]; n != nil {
		return n
	}
	data, err := r.files(file)
	if err != nil {
		panic(invalid(ref.at, "$ref %q: %v", ref.text, err))
	}
	if r.bytes += len(data); r.bytes > maxBytes || len(r.docs) >= maxFiles {
		panic(whittle.Errorf(whittle.ResourceExhausted, "%s: the document and the files that it names are more than %d MiB or %d files", ref.at, maxBytes>>20, maxFiles))
	}
	n := parse(data, file)
	r.docs[file] = n
	return n
}

// nameOf is what a place that a $ref names is called: its key, or its file.
func nameOf(ref string) string {
	if file, ok := strings.CutSuffix(ref, "#"); ok {
		file = path.Base(file)
		return strings.TrimSuffix(file, path.Ext(file))
	}
	return ref[strings.LastIndexByte(ref, '/')+1:]
}
