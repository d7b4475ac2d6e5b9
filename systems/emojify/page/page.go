// Package page is emojify's web page: a form for a URL or a picture, the place
// in the queue, and the finished picture. It loads nothing from other origins.
package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"net/http"
	"time"
)

//go:embed index.html page.css page.js icon.svg
var files embed.FS

// policy lets the page load its own two files, talk to its own origin and show
// pictures; nothing in it can run that came from anywhere else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

type file struct {
	name, kind, tag string
	content         []byte
}

var paths = map[string]file{
	"/":         read("index.html", "text/html; charset=utf-8"),
	"/page.css": read("page.css", "text/css; charset=utf-8"),
	"/page.js":  read("page.js", "text/javascript; charset=utf-8"),
	"/icon.svg": read("icon.svg", "image/svg+xml"),
}

func read(name, kind string) file {
	b, err := files.ReadFile(name)
	if err != nil {
		panic(err) // it would not have been built
	}
	sum := sha256.Sum256(b)
	return file{name, kind, `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`, b}
}

// Handler returns the page at /, its files next to it, and 404 for all else. It
// works under the paths of emojify's api, wherever those are mounted.
func Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f, ok := paths[r.URL.Path]
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		switch {
		case !ok:
			http.NotFound(w, r)
			return
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			h.Set("Allow", "GET, HEAD")
			http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
			return
		}
		h.Set("Content-Type", f.kind)
		h.Set("Content-Security-Policy", policy)
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-cache") // by the tag, so that a new version is seen at once
		h.Set("ETag", f.tag)
		http.ServeContent(w, r, f.name, time.Time{}, bytes.NewReader(f.content))
	})
}
