package java

import (
	"cmp"
	"strings"
)

// Binding names an object that the run gives scripts, by what it can do.
type Binding string

// What stands as the variable sampler: an HTTP sampler, one that is a script or sends
// nothing, or none, which has no methods.
const (
	HTTPSampler  Binding = "sampler"
	OtherSampler Binding = "other sampler"
	noSampler    Binding = "no sampler"
)

// bindingMethods are the methods of each; one that gives another object names it behind a
// colon. load/jmeter has what they do. What is not here is refused, whatever other class
// has a method of that name.
var bindingMethods = parseBindings(map[Binding]string{
	"vars":  "get put remove getObject putObject getIteration getThreadName",
	"props": "get put getProperty setProperty getOrDefault containsKey",
	"ctx": "getThreadNum getVariables:vars getProperties:props getThread:thread getThreadGroup:group getCurrentSampler:sampler getPreviousResult:sample " +
		"setRestartNextLoop setStartNextThreadLoop",
	"thread":     "getThreadName getThreadNum getThreadGroup:group",
	"group":      "getName",
	HTTPSampler:  "getName getPath getPort getPortIfSpecified getProtocol getDomain getMethod getUrl:url getCookieManager:cookies",
	OtherSampler: "getName",
	"cookies":    "clear",
	"url":        "getHost getPath getQuery getProtocol getPort getFile getRef getAuthority getUserInfo getDefaultPort toExternalForm toString",
	"log":        "info warn error debug trace isInfoEnabled isWarnEnabled isErrorEnabled isDebugEnabled isTraceEnabled",
	"out":        "println print printf",
	"assertion":  "setFailure setError setFailureMessage isFailure getName",
	"sample": `getResponseDataAsString getResponseData getResponseCode getResponseMessage getResponseHeaders getRequestHeaders getSamplerData getQueryString
		getContentType getDataType getSubResults getHTTPMethod getUrlAsString getURL:url getSampleLabel getTime getLatency getStartTime getEndTime getTimeStamp
		getBytesAsLong getBodySizeAsLong getBytes getErrorCount isSuccessful isResponseCodeOK getThreadName setStopThread setStopTest setStopTestNow
		setStartNextThreadLoop setRequestHeaders setDataType setDataEncoding setContentType sampleStart sampleEnd setResponseCode setResponseMessage
		setSuccessful setIgnore setSampleLabel setResponseData setSamplerData setResponseHeaders setResponseCodeOK setResponseMessageOK setResponseOK`,
})

// bindingNames are the variables that the objects are.
var bindingNames = map[string]Binding{
	"vars": "vars", "props": "props", "ctx": "ctx", "prev": "sample", "SampleResult": "sample", "Response": "sample", "log": "log", "OUT": "out",
	"AssertionResult": "assertion", "sampler": HTTPSampler,
}

func parseBindings(texts map[Binding]string) map[Binding]map[string]Binding {
	all := map[Binding]map[string]Binding{}
	for object, text := range texts {
		all[object] = map[string]Binding{}
		for _, method := range strings.Fields(text) {
			name, gives, _ := strings.Cut(method, ":")
			all[object][name] = Binding(gives)
		}
	}
	return all
}

// Objects are the objects that one script is given.
type Objects struct{ sampler Binding }

// ObjectsWith are those of a script whose variable sampler is as it says; empty: there is none.
func ObjectsWith(sampler Binding) Objects { return Objects{cmp.Or(sampler, noSampler)} }

// Variable is the object that a variable of JMeter's is; empty: it is none.
func (o Objects) Variable(name string) Binding {
	of := bindingNames[name]
	if of == HTTPSampler {
		return o.sampler
	}
	return of
}

// Method is the object that a method of an object gives, empty where it gives another
// value. False: the object has no such method.
func (o Objects) Method(object Binding, name string) (gives Binding, ok bool) {
	gives, ok = bindingMethods[object][name]
	if gives == HTTPSampler {
		gives = o.sampler
	}
	return gives, ok
}

// shown is what an object is called in a refusal.
func (b Binding) shown() string {
	switch b {
	case OtherSampler:
		return "a sampler that sends nothing"
	case noSampler:
		return "a sampler where none is known"
	case HTTPSampler, "sample", "group", "thread", "url", "assertion":
		return "a " + string(b)
	}
	return string(b)
}

// Lacks is what a refusal says of a method or a property that an object has not.
func (b Binding) Lacks(name string) string { return name + " of " + b.shown() }

// ofEvery are the methods of every object.
var ofEvery = map[string]bool{"equals": true, "is": true, "with": true}

// calls checks a call of a method on what a piece of JavaScript is, and gives the object
// that it comes to.
func (p *parser) calls(t token, of, name string) Binding {
	object, ok := p.objectOf[of]
	if !ok || ofEvery[name] {
		return ""
	}
	gives, ok := p.objects.Method(object, name)
	if !ok {
		p.fail(t, "the call of "+object.Lacks(name))
	}
	return gives
}

// property checks the reading of a property, which is a method's short name: sampler.path.
func (p *parser) property(t token, of, name string) Binding {
	object, ok := p.objectOf[of]
	if !ok || object == "vars" || object == "props" || name == "" { // vars.x is vars.get("x")
		return ""
	}
	capital := strings.ToUpper(name[:1]) + name[1:]
	for _, method := range []string{"get" + capital, "is" + capital} {
		if gives, ok := p.objects.Method(object, method); ok {
			return gives
		}
	}
	p.fail(t, object.Lacks(name))
	return ""
}

// setting checks the setting of a property.
func (p *parser) setting(t token, of, name string) {
	object, ok := p.objectOf[of]
	if !ok || object == "props" || name == "" {
		return
	}
	if _, ok := p.objects.Method(object, "set"+strings.ToUpper(name[:1])+name[1:]); !ok {
		p.fail(t, "an assignment to "+object.Lacks(name))
	}
}

// becomes keeps which object a variable is from now on.
func (p *parser) becomes(variable, value string) {
	if object, ok := p.objectOf[value]; ok {
		p.objectOf[variable] = object
	} else {
		delete(p.objectOf, variable)
	}
}

// comesTo is JavaScript of which it is known which object it comes to.
func (p *parser) comesTo(js string, object Binding) string {
	if object != "" {
		p.objectOf[js] = object
	}
	return js
}
