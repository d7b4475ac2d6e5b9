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
	defaults []*element // HTTP request defaults, the innermost first
	timers   []timer
	asserts  []*element
	extracts []*element
	cookies  *element // nil: cookies are not kept
	prefix   string   // of names: the transactions around
	auths    []*element
	ahead    []*element // pre-processors, the outermost first
	loop     *repeat    // the loop controller right around; nil: none
}

// role is what an element is to the samplers in its scope.
type role int

const (
	leftOut role = iota // it sends nothing
	ofHeaders
	ofCookies
	ofLogins
	ofDefaults
	ofTime    // a timer
	ahead     // a pre-processor
	asserts   // it judges a response
	extracts  // it takes variables from a response
	elsewhere // the controller around it has it, or it was read before all else
)

// roles are those of elements by their names.
var roles = map[string]role{
	"HeaderManager": ofHeaders, "CookieManager": ofCookies, "AuthManager": ofLogins, "ConfigTestElement": ofDefaults,

	"ConstantTimer": ofTime, "UniformRandomTimer": ofTime, "GaussianRandomTimer": ofTime, "PoissonRandomTimer": ofTime, "ConstantThroughputTimer": ofTime,
	"JSR223PreProcessor": ahead, "BeanShellPreProcessor": ahead,

	"ResponseAssertion": asserts, "JSONPathAssertion": asserts, "DurationAssertion": asserts,
	"JSR223Assertion": asserts, "BeanShellAssertion": asserts,

	"RegexExtractor": extracts, "BoundaryExtractor": extracts, "JSONPostProcessor": extracts, "HtmlExtractor": extracts,
	"JSR223PostProcessor": extracts, "BeanShellPostProcessor": extracts,

	"CSVDataSet": elsewhere, "CounterConfig": elsewhere, "ResultAction": elsewhere, "Arguments": elsewhere,

	"Summariser": leftOut, "BackendListener": leftOut, "ProxyControl": leftOut, "HttpMirrorControl": leftOut, "PropertyControlGui": leftOut, "DebugPostProcessor": leftOut,
	"DNSCacheManager": leftOut, "KeystoreConfig": leftOut, "ResultSaver": leftOut, "com.blazemeter.jmeter.RandomCSVDataSetConfigGui": leftOut,
}

// extended adds the elements of one hashTree. Of what can be given once, the innermost
// counts and, of several next to each other, the first.
func (s elementScope) extended(j *reader, siblings []*element) elementScope {
	var own []plan.HeaderField
	var defaults []*element
	for _, e := range siblings {
		switch roles[e.name] {
		case ofHeaders:
			own = completed(own, j.headers(e))
		case ofCookies:
			j.refuseOthers(e, "CookieManager.cookies", "CookieManager.clearEachIteration", "CookieManager.policy", "CookieManager.implementation",
				"CookieManager.controlledByThreadGroup")
			s.cookies = e
		case ahead:
			s.ahead = append(slices.Clip(s.ahead), e)
		case ofLogins:
			s.auths = append(slices.Clip(s.auths), e)
		case ofDefaults:
			if !j.ofOtherSampler(e) {
				j.refuseOthers(e, samplerProperties...)
				defaults = append(defaults, e)
			}
		case ofTime:
			s.timers = append(slices.Clip(s.timers), j.timer(e))
		case asserts:
			s.asserts = append(slices.Clip(s.asserts), e)
		case extracts:
			s.extracts = append(slices.Clip(s.extracts), e)
		}
	}
	s.headers = completed(own, s.headers)
	s.defaults = append(defaults, s.defaults...)
	return s
}

// completed adds to headers those of another manager whose names they have not.
func completed(own, others []plan.HeaderField) []plan.HeaderField {
	out := slices.Clip(own)
	for _, h := range others {
		if len(own) == 0 || !slices.ContainsFunc(out, func(o plan.HeaderField) bool { return o.Name == h.Name }) {
			out = append(out, h)
		}
	}
	return out
}

// httpDefaults are the panels whose defaults JMeter applies to HTTP samplers.
var httpDefaults = map[string]bool{"HttpDefaultsGui": true, "SimpleConfigGui": true, "LoginConfigGui": true}

// ofOtherSampler reports whether defaults are those of another protocol's samplers.
func (j *reader) ofOtherSampler(e *element) bool {
	for _, c := range e.children {
		kind, _, _ := strings.Cut(c.property(), ".")
		switch kind {
		case "FTPSampler", "TCPSampler", "ConfigTestElement", "JMSSampler", "LDAPSampler":
			return true
		}
	}
	if gui := e.attributes["guiclass"]; gui != "" && !httpDefaults[gui[strings.LastIndexByte(gui, '.')+1:]] {
		j.noteOf(e, "is left out: JMeter takes no defaults of HTTP from %s", gui)
		return true
	}
	return false
}

// readByScope reports whether an element is one of those that its scope reads, or one
// that sends nothing and is left out.
func (j *reader) readByScope(e *element) bool {
	r, known := roles[e.name]
	if leavesOut := func(suffix string) bool { return strings.HasSuffix(e.name, suffix) }; !known && !slices.ContainsFunc([]string{"Collector", "Writer", "Listener"}, leavesOut) {
		return false
	}
	if r == leftOut {
		j.ignored = append(j.ignored, e.title())
	}
	return true
}

// headers reads a header manager.
func (j *reader) headers(e *element) (out []plan.HeaderField) {
	j.refuseOthers(e, "HeaderManager.headers")
	list := e.prop("HeaderManager.headers")
	if list == nil {
		return nil
	}
	for _, h := range list.children {
		name := strings.ToLower(j.fixed(h, "Header.name"))
		text := strings.TrimSpace(h.value("Header.value"))
		switch {
		case name == "" && text == "":
			// JMeter sends such a line of nothing but a colon.
		case name == "":
			continue
		case !httpguts.ValidHeaderFieldName(name):
			panic(h.where("Header.name").Invalid("%q is not a header's name", name))
		case name == "content-length" || name == "transfer-encoding":
			continue // They frame the message; whittle frames it itself.
		case name == "expect" && !strings.EqualFold(text, "100-continue"):
			panic(h.where("Header.name").Errorf(whittle.Unsupported, "the header %s is not supported", textproto.CanonicalMIMEHeaderKey(name)))
		}
		out = append(out, plan.HeaderField{Name: name, Value: j.compile(h.where("Header.value"), text, expr.InHeader)})
	}
	return out
}

// quotedCookie is a cookie's value as JMeter's client writes it.
func quotedCookie(text string) string {
	if !strings.ContainsAny(text, " \",;\\") {
		return text
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// ownCookies are the cookies that a plan gives its users for a server.
func (j *reader) ownCookies(e *element, host string) []plan.HeaderField {
	list := e.prop("CookieManager.cookies")
	if list == nil {
		return nil
	}
	var out []plan.HeaderField
	for _, c := range list.children {
		name := c.attributes["name"]
		domain := strings.TrimPrefix(j.fixed(c, "Cookie.domain"), ".")
		if domain == "" {
			continue // JMeter sends it to no server
		}
		if host != "" && host != domain && !strings.HasSuffix(host, "."+domain) {
			continue // it is another server's
		}
		if host != "" {
			domain = "" // so that a target in its server's place gets it
		}
		path := j.fixed(c, "Cookie.path")
		if len(path) > 1 {
			path = strings.TrimSuffix(path, "/")
		}
		if name == "" || strings.ContainsAny(name, "=;, \t\r\n") || !httpguts.ValidHeaderFieldValue(name) {
			panic(c.at.Invalid("%q is not a cookie's name", name))
		}
		t := j.text(c, "Cookie.value")
		out = append(out, plan.HeaderField{Name: name, Value: t.Map(quotedCookie), Path: path, Domain: domain, Secure: c.is("Cookie.secure")})
	}
	return out
}
