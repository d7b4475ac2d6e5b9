package config

import (
	"slices"
	"strings"
	"testing"

	"whittle"
)

// TestWhichHeadersAreCompared: all by default, only those of a list, or all but some
// and some that servers add.
func TestWhichHeadersAreCompared(t *testing.T) {
	for _, tc := range []struct {
		text         string
		all          bool
		names        []string
		except       []string
		yes, no, out string // compared, not, and only listed
	}{
		{"{kind: json}", true, nil, nil, "X-Total-Count Link Location", "Date", "Server Etag X-Acme-Request-Id Cf-Ray"},
		{"{headers: all}", true, nil, nil, "X-Total-Count", "Content-Length", "Server"},
		{"{headers: []}", false, nil, nil, "", "Link Server", ""},
		{"{headers: [link, Link, etag]}", false, []string{"Link", "Etag"}, nil, "Link Etag", "Location Server", ""},
		{"{headers: {except: [x-build, Server]}}", true, nil, []string{"X-Build", "Server"}, "Link", "X-Build Server", "Via"},
		{"{headers: {also: [etag]}}", true, []string{"Etag"}, nil, "Etag Link", "Date", "Server"},
	} {
		f := mustParse(t, "monolith: http://m\nroutes: [{match: /a, candidate: \"http://c\", compare: "+tc.text+"}]")
		c := &f.Routes[0].Compare
		if c.AllHeaders != tc.all || !slices.Equal(c.Headers, tc.names) || !slices.Equal(c.ExceptHeaders, tc.except) {
			t.Errorf("%s: %t %q but %q", tc.text, c.AllHeaders, c.Headers, c.ExceptHeaders)
		}
		hold(t, tc.text, tc.yes, c.ComparesHeader, true)
		hold(t, tc.text, tc.no, c.ComparesHeader, false)
		hold(t, tc.text, tc.out, c.ComparesHeader, false)
		hold(t, tc.text, tc.out, c.ListsHeader, true)
		hold(t, tc.text, tc.yes+" "+tc.no, c.ListsHeader, false)
	}
}

func hold(t *testing.T, text, names string, of func(string) bool, want bool) {
	t.Helper()
	for _, name := range strings.Fields(names) {
		if of(name) != want {
			t.Errorf("%s: %s is %t", text, name, !want)
		}
	}
}

// TestNoHeaderOfAClientIsAddedByServers: what clients act on is compared by default, but for Expires,
// which says nothing beside Cache-Control.
func TestNoHeaderOfAClientIsAddedByServers(t *testing.T) {
	c := whittle.Comparison{AllHeaders: true}
	for _, name := range strings.Fields("Location Set-Cookie Cache-Control Www-Authenticate Content-Disposition Content-Language Content-Location Link " +
		"X-Total-Count X-Total-Pages X-Next-Page X-Has-More Retry-After Allow Vary Content-Range Refresh Clear-Site-Data Deprecation Sunset Warning " +
		"Access-Control-Allow-Origin Access-Control-Allow-Credentials Access-Control-Allow-Methods Access-Control-Allow-Headers Access-Control-Expose-Headers Access-Control-Max-Age " +
		"X-Csrf-Token X-Auth-Token X-Robots-Tag Idempotency-Key X-Api-Version Operation-Location Api-Supported-Versions Hx-Redirect Hx-Trigger X-Inertia Timing-Allow-Origin Authentication-Info") {
		if !c.ComparesHeader(name) || whittle.AddedByServers(name) {
			t.Errorf("%s is not compared", name)
		}
	}
}
