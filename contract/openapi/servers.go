package openapi

import (
	"net/url"
	"strconv"
	"strings"
)

// base is the path that an operation's path begins with: that of the first server's
// URL, of the operation, its path or the document, whichever is the first to name
// servers. why says why it is not known.
func (r *reader) base(item, op *node) (path, why string) {
	for _, n := range []*node{op, item, r.root} {
		servers := n.get("servers")
		if servers == nil || len(servers.items) == 0 {
			continue
		}
		path, why = serverPath(servers.items[0])
		for _, other := range servers.items[1:] {
			if p, w := serverPath(other); p != path && w == "" && why == "" {
				r.guess("servers", "the path of the first, "+strconv.Quote(path), strconv.Quote(p), label(other, "servers")+" has it")
			}
		}
		return path, why
	}
	return "", ""
}

// serverPath is the path of a server's URL with its variables at their defaults.
func serverPath(server *node) (path, why string) {
	text := server.str("url")
	if vars := server.get("variables"); vars != nil && vars.kind == isObject {
		for i, name := range vars.keys {
			if d := vars.items[i].get("default"); d != nil {
				text = strings.ReplaceAll(text, "{"+name+"}", d.text)
			}
		}
	}
	path = text
	if _, rest, ok := strings.Cut(text, "://"); ok {
		_, path, _ = strings.Cut(rest, "/")
		path = "/" + path
	} else if strings.HasPrefix(text, "//") {
		_, path, _ = strings.Cut(text[2:], "/")
		path = "/" + path
	} else if origin, rest, ok := strings.Cut(text, "}"); ok && strings.HasPrefix(origin, "{") && (rest == "" || rest[0] == '/') {
		path = rest // the variable is scheme and host
	}
	path, _, _ = strings.Cut(path, "?")
	path, _, _ = strings.Cut(path, "#")
	path = strings.TrimRight(path, "/")
	if path == "." { // where the document is: the root, for all that is known
		path = ""
	}
	if strings.Contains(path, "{") || path != "" && path[0] != '/' {
		return "", "where its path begins is not known: " + label(server, "the server's URL") + " is " + strconv.Quote(server.str("url"))
	}
	if _, err := url.PathUnescape(path); err != nil {
		return "", label(server, "the server's URL") + " is no URL"
	}
	return path, ""
}
