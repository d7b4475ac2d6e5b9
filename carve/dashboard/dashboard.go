// Package dashboard is whittle's page in a browser: an overview of the routes,
// and of one route its evidence, findings, guards, ledger and time line,
// with the orders that move its share. It is served at the admin address, reads
// the admin API there, and asks nothing of any other origin.
package dashboard

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed page
var embedded embed.FS

// policy lets the page load its own scripts and styles, and talk to its own
// origin. Nothing in it can run, or be framed, that came from anywhere else;
// that no string becomes markup or script is held by trusted types.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

const (
	// start is the file shown at /.
	start = "index.html"
	// place stands in start for the folder of the other files.
	place = "{{assets}}"
)

var kinds = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

type file struct {
	content   []byte
	kind, tag string
	immutable bool
}

// Handler gives the page at / and its files below /assets/, and 404 for all
// else. Neither holds anything of the gateway's, so both may be shown to who
// has no token. A file's path has the digest of all files in it: a browser
// keeps a file for ever, and a new whittle is a new path.
func Handler() http.Handler {
	files := load()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		f, ok := files[r.URL.Path]
		switch {
		case !ok:
			http.Error(w, "the dashboard is at /", http.StatusNotFound)
			return
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			h.Set("Allow", "GET, HEAD")
			http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
			return
		}
		h.Set("Content-Type", f.kind)
		h.Set("Content-Security-Policy", policy)
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("X-Frame-Options", "DENY")
		h.Set("ETag", f.tag)
		if f.immutable {
			h.Set("Cache-Control", "public, max-age=31536000, immutable")
		} else {
			h.Set("Cache-Control", "no-cache") // by the tag, so that a new version is seen at once
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.content))
	})
}

// load reads what is embedded, by the path that it is served under.
func load() map[string]file {
	page, err := fs.Sub(embedded, "page")
	if err != nil {
		panic(err) // the folder is named above
	}
	content, all := map[string][]byte{}, sha256.New()
	err = fs.WalkDir(page, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || kinds[path.Ext(name)] == "" {
			return err
		}
		b, err := fs.ReadFile(page, name)
		content[name] = b
		fmt.Fprintf(all, "%s %d\n%s", name, len(b), b)
		return err
	})
	if err != nil {
		panic(err) // what is embedded can be read
	}
	folder := "assets/" + base64.RawURLEncoding.EncodeToString(all.Sum(nil)[:12])
	files := map[string]file{}
	for name, b := range content {
		f := file{content: b, kind: kinds[path.Ext(name)], immutable: name != start}
		at := "/" + folder + "/" + name
		if name == start {
			at, f.content = "/", []byte(strings.ReplaceAll(string(b), place, folder))
		}
		sum := sha256.Sum256(f.content)
		f.tag = `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
		files[at] = f
	}
	return files
}
