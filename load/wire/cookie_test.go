package wire

import (
	"crypto/tls"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestCookiesGoWhereTheyBelong(t *testing.T) {
	now := time.Unix(1e9, 0)
	plainly := &endpoint{address: "app.example.org:80"}
	for _, c := range []struct {
		line, host, target string
		to                 *endpoint
		want               string
	}{
		{"a=1", "app.example.org", "/", plainly, "a=1"},
		{"a=1; Path=/x", "app.example.org", "/x/y?z", plainly, "a=1"},
		{"a=1; Path=/x", "app.example.org", "/xy", plainly, ""},
		{"a=1; Path=/x/", "app.example.org", "/x", plainly, ""},
		{"a=1; Domain=.Example.org", "app.example.org", "/", plainly, "a=1"},
		{"a=1; Domain=example.org", "other.example.org", "/", plainly, "a=1"},
		{"a=1; Domain=example.org", "evil.org", "/", plainly, ""},
		{"a=1", "other.example.org", "/", plainly, ""},
		{"a=1; Domain=ple.org", "app.example.org", "/", plainly, ""},
		{"a=1; Secure", "app.example.org", "/", plainly, ""},
		{"a=1; Secure", "app.example.org", "/", &endpoint{address: "app.example.org:443", tls: &tls.Config{}}, "a=1"},
		{"a=1; Max-Age=0", "app.example.org", "/", plainly, ""},
		{"a=1; Max-Age=1", "app.example.org", "/", plainly, "a=1"},
		{"a=1; Expires=Sun, 09 Sep 2001 01:46:39 GMT", "app.example.org", "/", plainly, ""},
		{"a=1; Expires=Sun, 09 Sep 2001 01:46:41 GMT", "app.example.org", "/", plainly, "a=1"},
		{"a=1; Expires=Thu, 01-Jan-70 00:00:01 GMT", "app.example.org", "/", plainly, ""},
		{"a=1; Expires=Fri, 09-Sep-33 01:46:40 GMT", "app.example.org", "/", plainly, "a=1"},
		{"a=1; Expires=Sep 9 01:46:39 2001", "app.example.org", "/", plainly, ""},
		{"a=1; Expires=2001 9 Sep 1:46:41", "app.example.org", "/", plainly, "a=1"},
		{"a=1; Expires=yesterday", "app.example.org", "/", plainly, "a=1"},
		{"a=1; Domain=0.0.1", "127.0.0.1", "/", &endpoint{address: "127.0.0.1:80"}, ""},
		{"nonsense", "app.example.org", "/", plainly, ""},
		{"a=" + strings.Repeat("x", maxCookieBytes), "app.example.org", "/", plainly, ""},
	} {
		var j jar
		j.setFromHeader(c.line, c.host, "/", now)
		want := ""
		if c.want != "" {
			want = "cookie: " + c.want + "\r\n"
		}
		if got := string(j.appendHeader(nil, c.to, c.target, now)); got != want {
			t.Errorf("%.60s from %s: %q, want %q", c.line, c.host, got, want)
		}
	}
}

func TestAJarReplacesOrdersAndIsBounded(t *testing.T) {
	now, e := time.Unix(1e9, 0), &endpoint{address: "h:80"}
	var j jar
	for _, line := range []string{"a=1", "b=2; Path=/", "c=3; Path=/deep/er", "a=4; Path=/deep", "gone=1; Path=/", "gone=; Path=/; Max-Age=-1"} {
		j.setFromHeader(line, "h", "/deep/page", now)
	}
	if got := string(j.appendHeader(nil, e, "/deep/er/x", now)); got != "cookie: c=3; a=4; b=2\r\n" {
		t.Errorf("%q", got)
	}
	for _, c := range []struct {
		noEmpty bool
		want    string
	}{{false, "cookie: c=3; a=; b=2\r\n"}, {true, "cookie: c=3; b=2\r\n"}} {
		j.noEmpty = c.noEmpty
		j.setFromHeader("a=; Path=/deep", "h", "/deep/page", now)
		if got := string(j.appendHeader(nil, e, "/deep/er/x", now)); got != c.want {
			t.Errorf("no empty ones %v: %q, want %q", c.noEmpty, got, c.want)
		}
	}
	for i := range 3 * maxCookies {
		j.setFromHeader(fmt.Sprintf("k%d=v", i), "h", "/", now)
	}
	if len(j.cookies) != maxCookies || j.cookies[maxCookies-1].name != fmt.Sprintf("k%d", 3*maxCookies-1) {
		t.Errorf("%d cookies, the last %+v", len(j.cookies), j.cookies[len(j.cookies)-1])
	}
}
