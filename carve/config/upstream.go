package config

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"whittle"
)

// maxInstances bounds the URLs of one upstream.
const maxInstances = 256

// upstream reads a URL, a list of them or a mapping with either, over the defaults
// in u. Where it was a mapping it comes back still open, for more fields to be read
// from.
func (r *reader) upstream(n *node, path string, u *whittle.Upstream) (*object, bool) {
	const want = "a URL such as http://127.0.0.1:3000, or {url: …, timeout: …}"
	if n.kind != isMapping {
		r.instances(n, path, want, u)
		return nil, false
	}
	o, _ := r.object(n, path, want)
	if at, ok := o.get("url"); ok {
		r.instances(at, o.sub("url"), "a URL such as http://127.0.0.1:3000, or a list of them", u)
	} else if !r.failed(o.sub("url")) {
		r.fail(n.at, o.sub("url"), "is missing; write url: http://127.0.0.1:3000")
	}
	read(o, "build", "a name such as 1.4.1", &u.Build, parseBuild)
	o.duration("timeout", &u.Timeout, time.Millisecond, day)
	o.duration("read_timeout", &u.ReadTimeout, time.Millisecond, day)
	o.duration("stream_timeout", &u.StreamTimeout, time.Millisecond, day)
	o.duration("write_timeout", &u.WriteTimeout, time.Millisecond, day)
	o.duration("wait_timeout", &u.WaitTimeout, time.Millisecond, day)
	o.size("max_response", &u.MaxResponse, kib, gib)
	o.count("max_conns", &u.MaxConns, 1, maxNum)
	o.flag("insecure", &u.Insecure)
	read(o, "metrics", "the URL of a Prometheus page such as http://127.0.0.1:6667/metrics", &u.Metrics, func(s string) (string, error) {
		return parseURL(s, "http", "https")
	})
	return o, true
}

// instances reads the URL of each of an upstream's instances.
func (r *reader) instances(n *node, path, want string, u *whittle.Upstream) {
	parse := func(s string) (string, error) { return parseURL(s, "http", "https", "h2c") }
	if n.kind != isSequence {
		readNode(r, n, path, want, &u.URL, parse)
		return
	}
	switch count := len(n.items); {
	case count == 0:
		r.fail(n.at, path, "is empty; write %s", want)
		return
	case count > maxInstances:
		r.fail(n.items[maxInstances].at, path, "has %d entries, and at most %d are read; a name that has all the addresses has no such bound", count, maxInstances)
		return
	}
	var all []string
	for i, it := range n.items {
		var raw string
		at := fmt.Sprintf("%s[%d]", path, i)
		r.where[at] = it.at
		if !readNode(r, it, at, "a URL such as http://127.0.0.1:3000", &raw, parse) {
			continue
		}
		switch {
		case slices.Contains(all, raw):
			r.fail(it.at, at, "%s stands there already", quote(raw))
		case len(all) > 0 && kindOf(raw) != kindOf(all[0]):
			r.fail(it.at, at, "%s is another kind of server than %s: the instances of one have the same scheme and the same path", quote(raw), quote(all[0]))
		}
		all = append(all, raw)
	}
	if len(all) > 0 {
		u.URL, u.Others = all[0], all[1:]
	}
}

// kindOf is what the URLs of one upstream have in common.
func kindOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return raw
	}
	return u.Scheme + "://" + u.EscapedPath()
}

// parseBuild reads the name of a build: one short line.
func parseBuild(s string) (string, error) {
	if s == "" || len(s) > 200 || strings.ContainsFunc(s, unicode.IsControl) || !utf8.ValidString(s) {
		return "", fmt.Errorf("%s names no build: write one line of at most 200 bytes, such as 1.4.1 or a commit", quote(s))
	}
	return s, nil
}
