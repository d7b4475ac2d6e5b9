package jmeter

import (
	"net/textproto"
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
func (s elementScope) extended(j *reader, siblings []*element) (elementScope, error) {
	for _, e := range siblings {
		var err error
		switch e.name {
		case "HeaderManager":
			err = j.headers(e, &s)
		case "CookieManager":
			err = j.cookieManager(e, &s)
		case "ConfigTestElement":
			if err = j.refuseOthers(e, samplerProperties...); err == nil {
				s.defaults = append(s.defaults[:len(s.defaults):len(s.defaults)], e)
			}
		case "ConstantTimer", "UniformRandomTimer", "GaussianRandomTimer", "PoissonRandomTimer", "ConstantThroughputTimer":
			var w timer
			w, err = j.timer(e)
			s.timers = append(s.timers[:len(s.timers):len(s.timers)], w)
		case "ResponseAssertion", "JSONPathAssertion":
			s.asserts = append(s.asserts[:len(s.asserts):len(s.asserts)], e)
		case "RegexExtractor", "JSONPostProcessor", "BoundaryExtractor":
			s.extracts = append(s.extracts[:len(s.extracts):len(s.extracts)], e)
		}
		if err != nil {
			return s, err
		}
	}
	return s, nil
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
		j.ignored = append(j.ignored, e.title())
		return true
	}
	if strings.HasSuffix(e.name, "ResultCollector") {
		j.ignored = append(j.ignored, e.title())
		return true
	}
	return false
}

// headers reads a header manager; its headers take the place of those of an
// outer one by the same names.
func (j *reader) headers(e *element, s *elementScope) error {
	if err := j.refuseOthers(e, "HeaderManager.headers"); err != nil {
		return err
	}
	list := e.prop("HeaderManager.headers")
	if list == nil {
		return nil
	}
	for _, h := range list.children {
		name, err := j.fixed(h, "Header.name")
		if err != nil {
			return err
		}
		name = strings.ToLower(name)
		text := strings.TrimSpace(h.value("Header.value"))
		switch {
		case name == "" && text == "":
			continue
		case !httpguts.ValidHeaderFieldName(name):
			return h.where("Header.name").Invalid("%q is not a header's name", name)
		case name == "content-length" || name == "transfer-encoding" || name == "connection":
			// They frame the message; whittle frames it itself.
			s.closing = s.closing || name == "connection" && strings.EqualFold(text, "close")
			continue
		case name == "upgrade" || name == "expect" || name == "te" || name == "trailer":
			return h.where("Header.name").Errorf(whittle.Unsupported, "the header %s is not supported", textproto.CanonicalMIMEHeaderKey(name))
		}
		t, err := j.compile(h.where("Header.value"), text, expr.InHeader)
		if err != nil {
			return err
		}
		s.headers = plan.MergeHeaders(s.headers, []plan.HeaderField{{Name: name, Value: t}})
	}
	return nil
}

// cookieManager makes cookies be kept, and gives those of the plan's own.
func (j *reader) cookieManager(e *element, s *elementScope) error {
	err := j.refuseOthers(e, "CookieManager.cookies", "CookieManager.clearEachIteration", "CookieManager.policy", "CookieManager.implementation",
		"CookieManager.controlledByThreadGroup")
	s.cookies = e
	return err
}

// own are the cookies that a plan gives its users.
func (j *reader) ownCookies(e *element) ([]plan.HeaderField, error) {
	list := e.prop("CookieManager.cookies")
	if list == nil {
		return nil, nil
	}
	var out []plan.HeaderField
	for _, c := range list.children {
		name := c.attributes["name"]
		if !httpguts.ValidHeaderFieldName(name) {
			return nil, c.at.Invalid("%q is not a cookie's name", name)
		}
		t, err := j.compile(c.where("Cookie.value"), c.value("Cookie.value"), expr.AsText)
		if err != nil {
			return nil, err
		}
		out = append(out, plan.HeaderField{Name: name, Value: t})
	}
	return out, nil
}
