package config

import (
	"fmt"
	"net/textproto"
	"slices"
	"strings"

	"whittle"
	"whittle/internal/http1"
)

// Where a preview token is looked for by default.
const (
	previewHeader = "X-Whittle-Preview"
	previewCookie = "whittle_preview"
)

// preview reads how testers' requests go to the candidate.
func (r *reader) preview(o *object, p *whittle.Rollout, files folder) {
	c, ok := o.child("preview", "{key_file: FILE} or {key_env: NAME}")
	if !ok {
		return
	}
	v := &whittle.Preview{Header: previewHeader, Cookie: previewCookie}
	if !r.secret(c, "key", &v.Key, files) {
		r.fail(c.n.at, c.path, "has no key to sign with: write key_file: FILE or key_env: NAME; whoever has the key can send requests to the candidate")
	}
	read(c, "header", "the name of a header", &v.Header, parsePreviewHeader)
	read(c, "cookie", "the name of a cookie", &v.Cookie, func(s string) (string, error) {
		switch {
		case !http1.IsToken(s):
			return "", fmt.Errorf("%s is not the name of a cookie: write one such as %s", quote(s), previewCookie)
		case p.Sticky.By == "cookie" && p.Sticky.Name == s:
			return "", fmt.Errorf("%s keeps users on one side (sticky_by), and the cookie of a preview is removed: write another name", quote(s))
		}
		return s, nil
	})
	c.flag("after_rollback", &v.AfterRollback)
	c.done()
	if p.Sticky.By == "header" && p.Sticky.Name == v.Header {
		r.failField(c.sub("header"), "%s keeps users on one side (sticky_by), and the header of a preview is removed: write another name", quote(v.Header))
	}
	p.Preview = v
}

// parsePreviewHeader reads the name of a header that has no other sense, since it is
// removed from every request.
func parsePreviewHeader(s string) (string, error) {
	name := textproto.CanonicalMIMEHeaderKey(s)
	switch {
	case !http1.IsToken(s):
		return "", fmt.Errorf("%s is not the name of a header: write one such as %s", quote(s), previewHeader)
	case strings.Contains(s, "_"):
		return "", fmt.Errorf("%s has an underscore, and many servers drop such headers: write one such as %s", quote(s), previewHeader)
	case slices.Contains([]string{"Authorization", "Cookie", "Host", "Connection", "Expect", "Upgrade", "Accept", "Forwarded", "Te", "Trailer", "Transfer-Encoding"}, name),
		strings.HasPrefix(name, "Content-"), strings.HasPrefix(name, "X-Forwarded-"):
		return "", fmt.Errorf("%s has a sense of its own, and the header of a preview is removed from every request: write one such as %s", quote(s), previewHeader)
	}
	return name, nil
}

// describePreview says who sees the candidate before its share.
func describePreview(b *strings.Builder, p *whittle.Preview) {
	if p == nil {
		return
	}
	after := "not after a rollback or a trip"
	if p.AfterRollback {
		after = "after a rollback and a trip, too"
	}
	line(b, "preview", "requests with a signed token (header %s or cookie %s) go to the candidate at any share; %s", p.Header, p.Cookie, after)
}
