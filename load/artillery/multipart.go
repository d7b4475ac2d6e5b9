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
// {fromFile, contentType, filename}.
func (r *reader) formData(n *node) (body, contentType expr.Template) {
	if n.kind != expr.KindMap {
		panic(n.Invalid("formData is a mapping of names to values, not %s", n.kind))
	}
	boundary := r.boundary()
	for _, f := range n.fields {
		for _, v := range f.value.each() {
			body = body.Literal("--" + boundary + "\r\n").Join(r.formPart(f.name, v)).Literal("\r\n")
		}
	}
	body = body.Literal("--" + boundary + "--\r\n")
	return body, expr.Template(nil).Literal("multipart/form-data; boundary=" + boundary)
}

// boundary is the same for the same plan, and not to be guessed by whoever
// fills its variables without having read it.
func (r *reader) boundary() string {
	sum := sha256.Sum256(r.digest[:])
	return "whittle-" + hex.EncodeToString(sum[:16])
}

func (r *reader) formPart(name string, n *node) expr.Template {
	head := `content-disposition: form-data; name="` + quoteParameter(name) + `"`
	switch n.kind {
	case expr.KindMap:
		return r.formFile(head, n)
	case expr.KindList:
		panic(n.Invalid("a list within a list has no meaning in a form"))
	}
	return expr.Template(nil).Literal(head + "\r\n\r\n").Join(r.compileTemplate(n, n.text, expr.AsText))
}

func (r *reader) formFile(head string, n *node) expr.Template {
	var path, media, filename string
	r.fields(n, "a file of formData", map[string]func(*node){
		"fromFile": str(&path), "contentType": str(&media), "filename": str(&filename),
	}, nil)
	switch {
	case path == "":
		panic(n.Invalid("a mapping in formData has a fromFile"))
	case !filepath.IsLocal(path):
		// The file is sent to the target, so only files in the plan's folder are read.
		panic(n.get("fromFile").Invalid("%s is not a path below the plan's folder", path))
	case r.Source.Open == nil:
		panic(n.get("fromFile").Errorf(whittle.NotFound, "%s cannot be opened: the plan is not a file", path))
	}
	src, err := r.Source.Open(path)
	if err != nil {
		panic(n.get("fromFile").Errorf(whittle.CodeOf(err), "%v", err))
	}
	if r.uploads += len(src); r.uploads > MaxUploadBytes {
		panic(n.get("fromFile").Errorf(whittle.ResourceExhausted, "the plan's files for forms have more than %d bytes", MaxUploadBytes))
	}
	if filename == "" {
		filename = filepath.Base(path)
	}
	if media == "" {
		if media = mime.TypeByExtension(filepath.Ext(path)); media == "" {
			media = "application/octet-stream"
		}
	}
	if _, _, err := mime.ParseMediaType(media); err != nil {
		panic(n.Invalid("%q is not a media type", media))
	}
	return expr.Template(nil).Literal(head + `; filename="` + quoteParameter(filename) + "\"\r\ncontent-type: " + media + "\r\n\r\n" + string(src))
}

// quoteParameter writes a name within quotes as browsers do.
func quoteParameter(s string) string {
	return strings.NewReplacer("\r", "%0D", "\n", "%0A", `"`, "%22").Replace(s)
}
