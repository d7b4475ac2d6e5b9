package artillery

import (
	"crypto/sha256"
	"encoding/hex"
	"mime"
	"path/filepath"
	"strings"

	"whittle"
	"whittle/load/expr"
)

// MaxUploadBytes bounds all files of a plan's forms together.
const MaxUploadBytes = 16 << 20

// formData reads a multipart form (RFC 7578): names to values, or to
// {fromFile, contentType}.
func (r *reader) formData(n *node) (body, contentType expr.Template) {
	// The same for the same plan, and not to be guessed by whoever fills its variables without
	// having read it.
	sum := sha256.Sum256(r.digest[:])
	boundary := "whittle-" + hex.EncodeToString(sum[:16])
	for _, f := range n.mapping("formData is a mapping of names to values") {
		for _, v := range f.value.each() {
			body = body.Literal("--" + boundary + "\r\n").Join(r.formPart(f.name, v)).Literal("\r\n")
		}
	}
	body = body.Literal("--" + boundary + "--\r\n")
	return body, expr.Template(nil).Literal("multipart/form-data; boundary=" + boundary)
}

func (r *reader) formPart(name string, n *node) expr.Template {
	head := `Content-Disposition: form-data; name="` + quoteParameter(name) + `"`
	switch n.kind {
	case expr.KindMap:
		return r.formFile(head, n)
	case expr.KindList:
		panic(n.Invalid("a list within a list has no meaning in a form"))
	}
	return expr.Template(nil).Literal(head + "\r\n\r\n").Join(r.compileTemplate(n, n.text, expr.AsText))
}

// formFile reads a file of a form, or a value with its type. The file is read with the plan,
// so its path has no expressions.
func (r *reader) formFile(head string, n *node) expr.Template {
	var media string
	var from, value *node
	r.fields(n, "a file of formData", map[string]func(*node){
		"fromFile": func(v *node) { from = v }, "contentType": str(&media),
		"value": func(v *node) { value = v },
	})
	if media != "" {
		if _, _, err := mime.ParseMediaType(media); err != nil {
			panic(n.Invalid("%q is not a media type", media))
		}
	}
	if from == nil && value == nil {
		panic(n.Invalid("a mapping in formData has a fromFile or a value"))
	}
	if from == nil {
		if media != "" {
			head += "\r\nContent-Type: " + media
		}
		return expr.Template(nil).Literal(head + "\r\n\r\n").Join(r.compileTemplate(value, value.text, expr.AsText))
	}
	return expr.Template(nil).Literal(head + r.filePart(from, r.fixed(from, "the path of a file"), media))
}

// filePart is what follows a part's head: file name, type and content.
func (r *reader) filePart(n *node, path, media string) string {
	if !filepath.IsLocal(path) {
		// The file is sent to the target, so only files in the plan's folder are read.
		panic(n.Invalid("%s is not a path below the plan's folder", path))
	}
	src, known := r.uploads[path]
	if !known {
		if r.uploads == nil {
			r.uploads = map[string]string{}
		}
		src = string(r.OpenFile(n.Position, path))
		r.uploads[path] = src
	}
	if !known || !r.frozen { // a request that a hook has made is one of the plan's again
		if r.uploaded += len(src); r.uploaded > MaxUploadBytes {
			panic(n.Errorf(whittle.ResourceExhausted, "the plan's files for forms have more than %d bytes", MaxUploadBytes))
		}
	}
	if media == "" {
		if media = mime.TypeByExtension(filepath.Ext(path)); media == "" {
			media = "application/octet-stream"
		}
		media, _, _ = strings.Cut(media, ";") // Artillery names no charset
	}
	return `; filename="` + quoteParameter(filepath.Base(path)) + "\"\r\nContent-Type: " + media + "\r\n\r\n" + src
}

// quoteParameter writes a name within quotes as browsers do.
func quoteParameter(s string) string {
	return strings.NewReplacer("\r", "%0D", "\n", "%0A", `"`, "%22").Replace(s)
}
