package jmeter

import (
	"fmt"
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
	cache    *element // nil: there is none
	prefix   string   // of names: the transactions around
	auths    []*element
	ahead    []*element // pre-processors, the outermost first
	cuts     []*cut     // the controllers around that may end before a sampler, the outermost first
	loop     *repeat    // the loop controller right around; nil: none
}

// extended adds the elements of one hashTree. Of what can be given once, the innermost
// counts and, of several next to each other, the first.
func (s elementScope) extended(j *reader, siblings []*element) elementScope {
	var own []plan.HeaderField
	var defaults []*element
	for _, e := range siblings {
		switch e.name {
		case "HeaderManager":
			own = completed(own, j.headers(e))
		case "CookieManager":
			j.refuseOthers(e, "CookieManager.cookies", "CookieManager.clearEachIteration", "CookieManager.policy", "CookieManager.implementation",
				"CookieManager.controlledByThreadGroup")
			s.cookies = e
		case "CacheManager":
			s.cache = e
		case "JSR223PreProcessor", "BeanShellPreProcessor", "BSFPreProcessor", "UserParameters", "URLRewritingModifier", "AnchorModifier":
			s.ahead = append(slices.Clip(s.ahead), e)
		case "AuthManager":
			s.auths = append(slices.Clip(s.auths), e)
		case "ConfigTestElement":
			if j.ofOtherSampler(e) {
				continue
			}
			j.refuseOthers(e, samplerProperties...)
			defaults = append(defaults, e)
		case "ConstantTimer", "UniformRandomTimer", "GaussianRandomTimer", "PoissonRandomTimer", "ConstantThroughputTimer", "SyncTimer", "PreciseThroughputTimer", "JSR223Timer", "BeanShellTimer", shapingTimer:
			s.timers = append(slices.Clip(s.timers), j.timer(e))
		default:
			switch {
			case assertions[e.name]:
				s.asserts = append(slices.Clip(s.asserts), e)
			case extractorNames[e.name]:
				s.extracts = append(slices.Clip(s.extracts), e)
			}
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
		j.note(fmt.Sprintf("line %d: %s is left out: JMeter takes no defaults of HTTP from %s", e.at.Line, e.title(), gui))
		return true
	}
	return false
}

// readByScope reports whether an element is one of those that with reads, or one
// that sends nothing and is left out.
func (j *reader) readByScope(e *element) bool {
	switch e.name {
	case "HeaderManager", "CookieManager", "CacheManager", "AuthManager", "ConfigTestElement", "ConstantTimer", "UniformRandomTimer", "GaussianRandomTimer",
		"PoissonRandomTimer", "ConstantThroughputTimer", "SyncTimer", "PreciseThroughputTimer", "JSR223Timer", "BeanShellTimer", shapingTimer,
		"JSR223PreProcessor", "BeanShellPreProcessor", "BSFPreProcessor", "UserParameters", "URLRewritingModifier", "AnchorModifier",
		"CSVDataSet", "CounterConfig", "RandomVariableConfig", "ResultAction", // the controller around them has them
		"Arguments": // user defined variables were read before all else
		return true
	case "Summariser", "BackendListener", "ProxyControl", "HttpMirrorControl", "PropertyControlGui", "DebugPostProcessor",
		"DNSCacheManager", "KeystoreConfig", "ResultSaver", "com.blazemeter.jmeter.RandomCSVDataSetConfigGui":
	default:
		if assertions[e.name] || extractorNames[e.name] {
			return true
		}
		if !strings.HasSuffix(e.name, "Collector") && !strings.HasSuffix(e.name, "Writer") && !strings.HasSuffix(e.name, "Listener") {
			return false
		}
	}
	j.ignored = append(j.ignored, e.title())
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
		t := j.compile(c.where("Cookie.value"), c.value("Cookie.value"), expr.AsText)
		out = append(out, plan.HeaderField{Name: name, Value: mapped(t, quotedCookie), Path: path, Domain: domain, Secure: c.is("Cookie.secure")})
	}
	return out
}
