package plan

import (
	"net/url"

	"whittle"
)

// ParseBase reads a base URL: scheme, server and perhaps a path. Errors have
// the code whittle.Invalid.
func ParseBase(base string) (*url.URL, error) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, whittle.Errorf(whittle.Invalid, "read target: %w", err)
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return nil, whittle.Errorf(whittle.Invalid, "target %q is not of the form http://host[:port][/path]", base)
	}
	return u, nil
}
