package jmeter

import (
	"net/textproto"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"whittle"
	"whittle/load/expr"
	"whittle/load/plan"
)

// elementScope are the elements whose effect is on all samplers in their scope:
// their siblings and those below.
type elementScope struct {
	headers  []plan.HeaderField
	defaults []*element // HTTP request defaults, the outermost first
	timers   []timer
	asserts  []*element
	extracts []*element
	cookies  *element // nil: cookies are not kept
	prefix   string   // of names: the transactions around
	closing  bool     // a header asks for no keep-alive
}

// extended adds the elements of one hashTree.
func (s elementScope) extended(j *reader, siblings []*element) elementScope {
	for _, e := range siblings {
		switch e.name {
		case "HeaderManager":
			j.headers(e, &s)
		case "CookieManager":
			j.refuseOthers(e, "CookieManager.cookies", "CookieManager.clearEachIteration", "CookieManager.policy", "CookieManager.implementation",
				"CookieManager.controlledByThreadGroup")
			s.cookies = e
		case "ConfigTestElement":
			j.refuseOthers(e, samplerProperties...)
			s.defaults = append(slices.Clip(s.defaults), e)
		case "ConstantTimer", "UniformRandomTimer", "GaussianRandomTimer", "PoissonRandomTimer", "ConstantThroughputTimer":
			s.timers = append(slices.Clip(s.timers), j.timer(e))
		case "ResponseAssertion", "JSONPathAssertion":
			s.asserts = append(slices.Clip(s.asserts), e)
		case "RegexExtractor", "JSONPostProcessor", "BoundaryExtractor":
			s.extracts = append(slices.Clip(s.extracts), e)
		}
	}
	return s
}

// readByScope reports whether an element is one of those that with reads, or one
// that sends nothing and is left out.
func (j *reader) readByScope(e *element) bool {
	switch e.name {
	case "HeaderManager", "CookieManager", "ConfigTestElement", "ConstantTimer", "UniformRandomTimer", "GaussianRandomTimer",
		"PoissonRandomTimer", "ConstantThroughputTimer", "ResponseAssertion", "JSONPathAssertion", "RegexExtractor", "JSONPostProcessor",
		"BoundaryExtractor",
		"Arguments": // user defined variables were read before all else
		return true
	case "Summariser", "BackendListener", "ProxyControl", "HttpMirrorControl", "PropertyControlGui", "DebugPostProcessor":
	default:
		if !strings.HasSuffix(e.name, "ResultCollector") {
			return false
		}
	}
	j.ignored = append(j.ignored, e.title())
	return true
}

// headers reads a header manager; its headers take the place of those of an
// outer one by the same names.
func (j *reader) headers(e *element, s *elementScope) {
	j.refuseOthers(e, "HeaderManager.headers")
	list := e.prop("HeaderManager.headers")
	if list == nil {
		return
	}
	for _, h := range list.children {
		name := strings.ToLower(j.fixed(h, "Header.name"))
		text := strings.TrimSpace(h.value("Header.value"))
		switch {
		case name == "" && text == "":
			continue
		case !httpguts.ValidHeaderFieldName(name):
			panic(h.where("Header.name").Invalid("%q is not a header's name", name))
		case name == "content-length" || name == "transfer-encoding" || name == "connection":
			// They frame the message; whittle frames it itself.
			s.closing = s.closing || name == "connection" && strings.EqualFold(text, "close")
			continue
		case name == "upgrade" || name == "expect" || name == "te" || name == "trailer":
			panic(h.where("Header.name").Errorf(whittle.Unsupported, "the header %s is not supported", textproto.CanonicalMIMEHeaderKey(name)))
		}
		t := j.compile(h.where("Header.value"), text, expr.InHeader)
		s.headers = plan.MergeHeaders(s.headers, []plan.HeaderField{{Name: name, Value: t}})
	}
}

// ownCookies are the cookies that a plan gives its users.
func (j *reader) ownCookies(e *element) []plan.HeaderField {
	list := e.prop("CookieManager.cookies")
	if list == nil {
		return nil
	}
	var out []plan.HeaderField
	for _, c := range list.children {
		name := c.attributes["name"]
		if !httpguts.ValidHeaderFieldName(name) {
			panic(c.at.Invalid("%q is not a cookie's name", name))
		}
		t := j.compile(c.where("Cookie.value"), c.value("Cookie.value"), expr.AsText)
		out = append(out, plan.HeaderField{Name: name, Value: t})
	}
	return out
}
