package jmeter

import (
	"fmt"
	"strings"
	"testing"

	"whittle"
	"whittle/load/plan"
)

func TestWhatDoesNotRunIsRefusedByNameAndPlace(t *testing.T) {
	script := func(name string) string {
		return threadGroup(1, 1, sampler("/", "<"+name+` testname="s"><stringProp name="script">class X {}</stringProp></`+name+`><hashTree/>`))
	}
	for says, src := range map[string]string{
		`p.jmx:1:`: testPlan(script("JSR223PreProcessor")),
		`JSR223PreProcessor "s" is not supported: it is a script`:   testPlan(script("JSR223PreProcessor")),
		`BeanShellPostProcessor "s" is not supported: it is a sc`:   testPlan(script("BeanShellPostProcessor")),
		`BSFSampler is not supported: it is a script`:               testPlan(threadGroup(1, 1, `<BSFSampler><stringProp name="scriptLanguage">jython</stringProp><stringProp name="script">x</stringProp></BSFSampler><hashTree/>`)),
		`the mechanism OAUTH is not supported`:                      testPlan(`<AuthManager><collectionProp name="AuthManager.auth_list"><elementProp name=""><stringProp name="Authorization.url">http://x/</stringProp><stringProp name="Authorization.mechanism">OAUTH</stringProp></elementProp></collectionProp></AuthManager><hashTree/>` + threadGroup(1, 1, sampler("/", ""))),
		`the function __nope is not supported: docs/load-jmeter.md`: testPlan(threadGroup(1, 1, sampler("/${__nope}", ""))),
		`no file up.txt`:                           testPlan(threadGroup(1, 1, `<HTTPSamplerProxy><stringProp name="HTTPSampler.method">POST</stringProp><elementProp name="HTTPsampler.Files"><collectionProp name="HTTPFileArgs.files"><elementProp name=""><stringProp name="File.path">up.txt</stringProp></elementProp></collectionProp></elementProp></HTTPSamplerProxy><hashTree/>`)),
		`assertion on Assertion.smell`:             testPlan(threadGroup(1, 1, sampler("/", `<ResponseAssertion><stringProp name="Assertion.test_field">Assertion.smell</stringProp></ResponseAssertion><hashTree/>`))),
		`the action 9 is not supported`:            testPlan(threadGroup(1, 1, `<TestAction><intProp name="ActionProcessor.action">9</intProp></TestAction><hashTree/>`+sampler("/", ""))),
		`there is no module P / P / Frag`:          testPlan(threadGroup(1, 1, `<ModuleController><collectionProp name="ModuleController.node_path"><stringProp name="1">P</stringProp><stringProp name="2">P</stringProp><stringProp name="3">Frag</stringProp></collectionProp></ModuleController><hashTree/>`+sampler("/", ""))),
		`"rows" names no file: JMeter`:             testPlan(threadGroup(1, 1, `<CSVDataSet testname="rows"><stringProp name="filename"> </stringProp></CSVDataSet><hashTree/>`+sampler("/", ""))),
		`no file frag.jmx`:                         testPlan(threadGroup(1, 1, `<IncludeController><stringProp name="IncludeController.includepath">frag.jmx</stringProp></IncludeController><hashTree/>`+sampler("/", ""))),
		`below InterleaveControl is not supported`: testPlan(threadGroup(1, 1, `<InterleaveControl/><hashTree><LoopController/><hashTree>`+sampler("/", "")+`</hashTree></hashTree>`)),
		// JMeter's library reads it, whittle does not.
		`the JSONPath $.a[?(@.b contains 'x')] is not u`: testPlan(threadGroup(1, 1, sampler("/", `<JSONPostProcessor><stringProp name="JSONPostProcessor.referenceNames">x</stringProp><stringProp name="JSONPostProcessor.jsonPathExprs">$.a[?(@.b contains 'x')]</stringProp></JSONPostProcessor><hashTree/>`))),
		`the JSONPath $.b[?(@.c contains 'x')] is not u`: testPlan(threadGroup(1, 1, sampler("/", `<JSONPathAssertion><stringProp name="JSON_PATH">$.b[?(@.c contains 'x')]</stringProp></JSONPathAssertion><hashTree/>`))),
		// Java knows it, whittle does not.
		`the content encoding Shift_JIS is not su`: testPlan(threadGroup(1, 1, `<HTTPSamplerProxy><stringProp name="HTTPSampler.contentEncoding">Shift_JIS</stringProp></HTTPSamplerProxy><hashTree/>`)),
		// What JMeter's engine alone reads is no JavaScript, but holds there.
		`IfController is not supported: it is a s`: testPlan(threadGroup(1, 1, `<IfController><stringProp name="IfController.condition">&lt;a&gt;1&lt;/a&gt; == 1</stringProp></IfController><hashTree>`+sampler("/", "")+`</hashTree>`)),
		`JDBCSampler is not supported`:             testPlan(threadGroup(1, 1, "<JDBCSampler/><hashTree/>")),
		`on_sample_error: dance is not supported`:  testPlan(strings.Replace(threadGroup(1, 1, sampler("/", "")), `<elementProp`, `<stringProp name="ThreadGroup.on_sample_error">dance</stringProp><elementProp`, 1)),
		`a number is wanted, not "often"`:          testPlan(strings.Replace(threadGroup(1, 1, sampler("/", "")), `loops">1`, `loops">often`, 1)),
		`is not within 0 and 100000`:               testPlan(threadGroup(200_000, 1, sampler("/", ""))),
		`sends a request`:                          testPlan(""),
		`a response timeout is`:                    testPlan(threadGroup(1, 1, `<HTTPSamplerProxy><stringProp name="HTTPSampler.response_timeout">x</stringProp></HTTPSamplerProxy><hashTree/>`)),
		`begins with <jmeterTestPlan>`:             `<plan/>`,
		`document type`:                            `<!DOCTYPE x [<!ENTITY a "aaaa">]><jmeterTestPlan/>`,
		`not XML: invalid character entity &b;`:    `<jmeterTestPlan>&b;</jmeterTestPlan>`,
		`not XML: unexpected EOF`:                  `<jmeterTestPlan>`,
		`not in iso-8859-1`:                        `<?xml version="1.0" encoding="iso-8859-1"?><jmeterTestPlan/>`,
		`nested deeper than 128`:                   strings.Repeat("<hashTree>", 200),
		// 999,001 elements are there by references, and a thousand as they are.
		`1:28961: more than 1000000 elements`: "<a><r>" + strings.Repeat("<b/>", 999) + "</r>" + strings.Repeat(`<c reference="../r"/>`, 998) + strings.Repeat("<b/>", 1000),
		// A reference stands for all that is there, so references to references multiply.
		`1:1281: more than 1000000 elements`:                     manyReferences(),
		`this one follows none`:                                  `<jmeterTestPlan><hashTree><hashTree/></hashTree></jmeterTestPlan>`,
		`has a TestPlan`:                                         `<jmeterTestPlan><hashTree/></jmeterTestPlan>`,
		`a CSV file is in UTF-8`:                                 testPlan(threadGroup(1, 1, `<CSVDataSet><stringProp name="fileEncoding">UTF-16</stringProp></CSVDataSet><hashTree/>`+sampler("/", ""))),
		`no file x.csv`:                                          testPlan(threadGroup(1, 1, `<CSVDataSet><stringProp name="filename">x.csv</stringProp></CSVDataSet><hashTree/>`+sampler("/", ""))),
		`the pattern is not understood`:                          testPlan(threadGroup(1, 1, sampler("/", `<RegexExtractor><stringProp name="RegexExtractor.refname">x</stringProp><stringProp name="RegexExtractor.regex">(a</stringProp></RegexExtractor><hashTree/>`))),
		`an expression with the function alert is not supported`: testPlan(threadGroup(1, 1, sampler("/${__jexl3(alert(1))}", ""))),
		`the schedule: "burst" is not known`:                     testPlan(`<OpenModelThreadGroup><stringProp name="OpenModelThreadGroup.schedule">burst(1)</stringProp></OpenModelThreadGroup><hashTree>` + sampler("/", "") + `</hashTree>`),
		`goes through another proxy than`:                        testPlan(threadGroup(1, 1, sampler("/", "")+`<HTTPSamplerProxy><stringProp name="HTTPSampler.proxyHost">p.example</stringProp><stringProp name="HTTPSampler.proxyPort">1</stringProp></HTTPSamplerProxy><hashTree/>`)),
		`a proxy of the scheme ftp`:                              testPlan(threadGroup(1, 1, `<HTTPSamplerProxy><stringProp name="HTTPSampler.proxyScheme">ftp</stringProp><stringProp name="HTTPSampler.proxyHost">p.example</stringProp><stringProp name="HTTPSampler.proxyPort">1</stringProp></HTTPSamplerProxy><hashTree/>`)),
		`a run is of one model`:                                  testPlan(threadGroup(1, 1, sampler("/", "")) + `<OpenModelThreadGroup><stringProp name="OpenModelThreadGroup.schedule">rate(1/s) even_arrivals(1 s)</stringProp></OpenModelThreadGroup><hashTree>` + sampler("/", "") + `</hashTree>`),
	} {
		_, err := Parse("p.jmx", []byte(src), plan.Source{Open: noFiles, Properties: map[string]string{"set": "7"}})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
		if code := whittle.CodeOf(err); err != nil && code.ExitStatus() != 2 && code != whittle.NotFound && code != whittle.ResourceExhausted {
			t.Errorf("%v has the code %v", err, code)
		}
	}
}

// TestPathsThatTheLibraryReads: none of these is taken for one that it cannot read.
func TestPathsThatTheLibraryReads(t *testing.T) {
	for _, path := range []string{
		"$", "$.a", "$.a-b", "$..*", "$['a b']", `$["a b"].c`, "$['a' , 'b']", "$[0, 1]", "$[ * ]", "$.[0]", "$.items[", "$.a.length()", `$.concat("a b", $.b)`,
		"$.a[?(@.b == null)]", "$.a[?(@.b==true)]", "$.a[?(!@.b)]", "$.a[? (@.b == 1)]", "$.a[?('x' == @.b)]", "$.a[?(@.b == $.c)]", "$.a[?(@.b == 1 || @.c == 2)]",
		"$.a[?(@.b contains 'x')]", "$.a[?(@.b in ['x','y'])]", "$.a[?(@['x y'] == 1)]", "$.a[?(@.b == 'x = y and z')]", "$.a[?(@.b =~ /x y = z/)]", "$.a[?(@.and == 1)]",
	} {
		if brokenPath(path) {
			t.Errorf("%s is taken for broken", path)
		}
	}
}

// TestOuterSpaces: JMeter encodes the spaces around a path, and takes none off.
func TestOuterSpaces(t *testing.T) {
	for path, want := range map[string]string{
		"/a": "/a", " /a b": "%20/a b", "/a  ": "/a%20%20", "  ": "%20%20", "": "", "\n\t/a\n": "/a", " ${p} ": "%20${p}%20",
	} {
		if got := outerSpaces(path); got != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
}

// TestWhatIsNotSentSaysWhy: JMeter sends none of these, either.
func TestWhatIsNotSentSaysWhy(t *testing.T) {
	for target, want := range map[string]string{
		"/a?b=c": "", "/{id}": "a URL has no {; encode it", "/a[0]": "a URL has no [", "/a?b[0]=1": "", "/" + fileMark + "face.png>": "the file face.png, which it sends, cannot be read",
	} {
		if got := illegalTarget(target); !strings.HasPrefix(got, want) || (want == "") != (got == "") {
			t.Errorf("%q: %q, want %q", target, got, want)
		}
	}
	for method, want := range map[string]string{"GET": "", "PATCH": "Java's own client, which the plan asks for, has no method PATCH"} {
		if got := illegalByJava(method)("/{id}"); got != want {
			t.Errorf("%s: %q, want %q", method, got, want)
		}
	}
}

func FuzzJMX(f *testing.F) {
	// Short ones: the fuzzer takes minutes to shorten a long one.
	for _, inner := range []string{
		threadGroup(1, 1, sampler("/a", `<ResponseAssertion/><hashTree/><RegexExtractor/><hashTree/>`)),
		threadGroup(2, -1, `<CSVDataSet><stringProp name="filename">x</stringProp></CSVDataSet><hashTree/>`+sampler("${x}", "")),
		threadGroup(1, 1, `<IfController><stringProp name="IfController.condition">"${x}" == 1</stringProp></IfController><hashTree>`+sampler("", "")+`</hashTree>`),
		threadGroup(1, 1, `<LoopController><stringProp name="LoopController.loops">3</stringProp></LoopController><hashTree><ConstantTimer/><hashTree/>`+sampler("", "")+`</hashTree>`),
		`<OpenModelThreadGroup><stringProp name="OpenModelThreadGroup.schedule">rate(1/s) even_arrivals(1 s)</stringProp></OpenModelThreadGroup><hashTree>` + sampler("/", "") + `</hashTree>`,
	} {
		f.Add([]byte(testPlan(inner)))
	}
	f.Add([]byte(testPlan(threadGroup(1, 1, sampler("/${__time(yyyy,x)}${__RandomString(3,ab,y)}${__jexl3(1+1)}", "")))))
	f.Fuzz(func(t *testing.T, src []byte) {
		p, err := Parse("f.jmx", src, plan.Source{})
		if err == nil && len(p.Names) == 0 {
			t.Error("a plan without requests passed")
		}
	})
}

// testPlan wraps thread groups into a test plan.
func testPlan(inner string) string {
	return `<jmeterTestPlan version="1.2"><hashTree><TestPlan testname="P"/><hashTree>` + inner + `</hashTree></hashTree></jmeterTestPlan>`
}

// manyReferences is a plan of lists that each have the list before ten times.
func manyReferences() string {
	var b strings.Builder
	b.WriteString("<jmeterTestPlan><a0>" + strings.Repeat("<b/>", 10) + "</a0>")
	for i := range 8 {
		fmt.Fprintf(&b, "<a%d>%s</a%d>", i+1, strings.Repeat(fmt.Sprintf(`<b reference="../../a%d"/>`, i), 10), i+1)
	}
	return b.String() + "</jmeterTestPlan>"
}

// threadGroup is one of so many users and loops.
func threadGroup(users, loops int, inner string) string {
	return fmt.Sprintf(`<ThreadGroup testname="G"><elementProp name="ThreadGroup.main_controller" elementType="LoopController"><stringProp name="LoopController.loops">%d</stringProp></elementProp><stringProp name="ThreadGroup.num_threads">%d</stringProp></ThreadGroup><hashTree>%s</hashTree>`, loops, users, inner)
}

// sampler asks for a path, with what is below it.
func sampler(path, below string) string {
	return `<HTTPSamplerProxy testname="` + path + `"><stringProp name="HTTPSampler.path">` + path + `</stringProp></HTTPSamplerProxy><hashTree>` + below + `</hashTree>`
}

func noFiles(name string) ([]byte, error) {
	return nil, whittle.Errorf(whittle.NotFound, "no file %s", name)
}
