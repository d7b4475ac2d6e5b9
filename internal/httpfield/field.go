// Package httpfield says which fields of a net/http header are hop by hop and which methods are
// safe, and parses lists of tokens and media types. The syntax of HTTP/1.1 is in http1.
package httpfield

import (
	"net/http"
	"slices"
	"strings"
)

// HopByHop reports whether a field (named canonically) concerns one connection
// only and never goes further.
func HopByHop(name string) bool {
	switch name {
	case "Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "Proxy-Authorization",
		"Te", "Trailer", "Transfer-Encoding", "Upgrade":
		return true
	}
	return false
}

// ConnectionNames gives the fields that Connection declares hop by hop, in
// canonical form; nil for the everyday values that name none.
func ConnectionNames(h map[string][]string) []string {
	var names []string
	for _, v := range h["Connection"] {
		if v == "keep-alive" || v == "close" || v == "Keep-Alive" {
			continue
		}
		names = append(names, Names(v)...)
	}
	return names
}

// Names gives the names of fields that lists have, in canonical form.
func Names(lists ...string) (names []string) {
	for _, list := range lists {
		for name := range strings.SplitSeq(list, ",") {
			if name = strings.Trim(name, " \t"); name != "" {
				names = append(names, http.CanonicalHeaderKey(name))
			}
		}
	}
	return names
}

// IsSafe reports whether a request of a method changes nothing by its definition, so that it may
// be copied and repeated: GET, HEAD and OPTIONS (RFC 9110, section 9.2.1). TRACE is left out, since
// a server repeats in its response what a proxy has added to the request.
func IsSafe(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}

// AllowsBody reports whether a response of a status may have a body.
func AllowsBody(status int) bool {
	return status >= 200 && status != http.StatusNoContent && status != http.StatusNotModified
}

// IsMedia reports whether a Content-Type is one of the media types, in any case and
// whatever its parameters.
func IsMedia(contentType string, types ...string) bool {
	contentType, _, _ = strings.Cut(contentType, ";")
	contentType = strings.TrimSpace(contentType)
	return slices.ContainsFunc(types, func(t string) bool { return strings.EqualFold(contentType, t) })
}

// HasToken reports whether a comma-separated list has a token, in any case.
func HasToken(values []string, token string) bool {
	for _, v := range values {
		for part := range strings.SplitSeq(v, ",") {
			part, _, _ = strings.Cut(part, ";")
			if strings.EqualFold(strings.Trim(part, " \t"), token) {
				return true
			}
		}
	}
	return false
}
