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
func (r *reader) formData(n *node) (body, contentType expr.Template, err error) {
	if n.kind != expr.KindMap {
		return nil, nil, n.Invalid("formData is a mapping of names to values, not %s", n.kind)
	}
	boundary := r.boundary()
	for _, f := range n.fields {
		values := f.value.items
		if f.value.kind != expr.KindList {
			values = []*node{f.value}
		}
		for _, v := range values {
			part, err := r.formPart(f.name, v)
			if err != nil {
				return nil, nil, err
			}
			body = body.Literal("--" + boundary + "\r\n").Join(part).Literal("\r\n")
		}
	}
	body = body.Literal("--" + boundary + "--\r\n")
	return body, expr.Template(nil).Literal("multipart/form-data; boundary=" + boundary), nil
}

// boundary is the same for the same plan, and not to be guessed by whoever
// fills its variables without having read it.
func (r *reader) boundary() string {
	sum := sha256.Sum256(r.digest[:])
	return "whittle-" + hex.EncodeToString(sum[:16])
}

func (r *reader) formPart(name string, n *node) (expr.Template, error) {
	head := `content-disposition: form-data; name="` + quoteParameter(name) + `"`
	switch n.kind {
	case expr.KindMap:
		return r.formFile(head, n)
	case expr.KindList:
		return nil, n.Invalid("a list within a list has no meaning in a form")
	}
	value, err := r.compileTemplate(n, n.text, expr.AsText)
	return expr.Template(nil).Literal(head + "\r\n\r\n").Join(value), err
}

func (r *reader) formFile(head string, n *node) (expr.Template, error) {
	var path, media, filename string
	err := r.fields(n, "a file of formData", map[string]func(*node) error{
		"fromFile": str(&path), "contentType": str(&media), "filename": str(&filename),
	}, nil)
	switch {
	case err != nil:
		return nil, err
	case path == "":
		return nil, n.Invalid("a mapping in formData has a fromFile")
	case !filepath.IsLocal(path):
		// The file is sent to the target, so only files in the plan's folder are read.
		return nil, n.get("fromFile").Invalid("%s is not a path below the plan's folder", path)
	case r.Source.Open == nil:
		return nil, n.get("fromFile").Errorf(whittle.NotFound, "%s cannot be opened: the plan is not a file", path)
	}
	src, err := r.Source.Open(path)
	if err != nil {
		return nil, n.get("fromFile").Errorf(whittle.CodeOf(err), "%v", err)
	}
	if r.uploads += len(src); r.uploads > MaxUploadBytes {
		return nil, n.get("fromFile").Errorf(whittle.ResourceExhausted, "the plan's files for forms have more than %d bytes", MaxUploadBytes)
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
		return nil, n.Invalid("%q is not a media type", media)
	}
	return expr.Template(nil).Literal(head + `; filename="` + quoteParameter(filename) + "\"\r\ncontent-type: " + media + "\r\n\r\n" + string(src)), nil
}

// quoteParameter writes a name within quotes as browsers do.
func quoteParameter(s string) string {
	return strings.NewReplacer("\r", "%0D", "\n", "%0A", `"`, "%22").Replace(s)
}
