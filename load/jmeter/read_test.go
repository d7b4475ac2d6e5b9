package jmeter

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/internal/fatal"
	"whittle/load/expr"
	"whittle/load/plan"
)

func TestWhatDoesNotRunIsRefusedByNameAndPlace(t *testing.T) {
	script := func(name string) string {
		return threadGroup(1, 1, sampler("/", "<"+name+` testname="s"><stringProp name="script">class X {}</stringProp></`+name+`><hashTree/>`))
	}
	for says, src := range map[string]string{
		`p.jmx:1:`: testPlan(script("JSR223PreProcessor")),
		`JSR223PreProcessor "s" is not supported: it is a script`:  testPlan(script("JSR223PreProcessor")),
		`BeanShellPostProcessor "s" is not supported: it is a sc`:  testPlan(script("BeanShellPostProcessor")),
		`BSFSampler is not supported: it is a script`:              testPlan(threadGroup(1, 1, `<BSFSampler><stringProp name="scriptLanguage">jython</stringProp><stringProp name="script">x</stringProp></BSFSampler><hashTree/>`)),
		`the mechanism OAUTH is not supported`:                     testPlan(`<AuthManager><collectionProp name="AuthManager.auth_list"><elementProp name=""><stringProp name="Authorization.url">http://x/</stringProp><stringProp name="Authorization.mechanism">OAUTH</stringProp></elementProp></collectionProp></AuthManager><hashTree/>` + threadGroup(1, 1, sampler("/", ""))),
		`the function __nope is not supported: use ${__groovy(…)}`: testPlan(threadGroup(1, 1, sampler("/${__nope}", ""))),
		`no file up.txt`:                          testPlan(threadGroup(1, 1, `<HTTPSamplerProxy><stringProp name="HTTPSampler.method">POST</stringProp><elementProp name="HTTPsampler.Files"><collectionProp name="HTTPFileArgs.files"><elementProp name=""><stringProp name="File.path">up.txt</stringProp></elementProp></collectionProp></elementProp></HTTPSamplerProxy><hashTree/>`)),
		`assertion on Assertion.smell`:            testPlan(threadGroup(1, 1, sampler("/", `<ResponseAssertion><stringProp name="Assertion.test_field">Assertion.smell</stringProp></ResponseAssertion><hashTree/>`))),
		`the action 9 is not supported`:           testPlan(threadGroup(1, 1, `<TestAction><intProp name="ActionProcessor.action">9</intProp></TestAction><hashTree/>`+sampler("/", ""))),
		`there is no module P / P / Frag`:         testPlan(threadGroup(1, 1, `<ModuleController><collectionProp name="ModuleController.node_path"><stringProp name="1">P</stringProp><stringProp name="2">P</stringProp><stringProp name="3">Frag</stringProp></collectionProp></ModuleController><hashTree/>`+sampler("/", ""))),
		`"rows" names no file: JMeter`:            testPlan(threadGroup(1, 1, `<CSVDataSet testname="rows"><stringProp name="filename"> </stringProp></CSVDataSet><hashTree/>`+sampler("/", ""))),
		`below RandomController is not supported`: testPlan(threadGroup(1, 1, `<RandomController/><hashTree><LoopController/><hashTree>`+sampler("/", "")+`</hashTree></hashTree>`)),
		// JMeter's library reads it, whittle does not.
		`the JSONPath $.a[?(@.b contains 'x')] is not u`: testPlan(threadGroup(1, 1, sampler("/", `<JSONPostProcessor><stringProp name="JSONPostProcessor.referenceNames">x</stringProp><stringProp name="JSONPostProcessor.jsonPathExprs">$.a[?(@.b contains 'x')]</stringProp></JSONPostProcessor><hashTree/>`))),
		`the JSONPath $.b[?(@.c contains 'x')] is not u`: testPlan(threadGroup(1, 1, sampler("/", `<JSONPathAssertion><stringProp name="JSON_PATH">$.b[?(@.c contains 'x')]</stringProp></JSONPathAssertion><hashTree/>`))),
		// Java knows it, whittle does not.
		`JSR223Timer is not supported: use a Constant Timer of ${__groovy(…)}`: testPlan(threadGroup(1, 1, sampler("/", `<JSR223Timer/><hashTree/>`))),
		`the content encoding Shift_JIS is not su`:                             testPlan(threadGroup(1, 1, `<HTTPSamplerProxy><stringProp name="HTTPSampler.contentEncoding">Shift_JIS</stringProp></HTTPSamplerProxy><hashTree/>`)),
		// What JMeter's engine alone reads is no JavaScript, but holds there.
		`its condition is of JMeter's own engine alone`:          testPlan(threadGroup(1, 1, `<IfController><stringProp name="IfController.condition">&lt;a&gt;1&lt;/a&gt; == 1</stringProp></IfController><hashTree>`+sampler("/", "")+`</hashTree>`)),
		`JDBCSampler is not supported`:                           testPlan(threadGroup(1, 1, "<JDBCSampler/><hashTree/>")),
		`on_sample_error: dance is not supported`:                testPlan(strings.Replace(threadGroup(1, 1, sampler("/", "")), `<elementProp`, `<stringProp name="ThreadGroup.on_sample_error">dance</stringProp><elementProp`, 1)),
		`a number is wanted, not "often"`:                        testPlan(strings.Replace(threadGroup(1, 1, sampler("/", "")), `loops">1`, `loops">often`, 1)),
		`is not within 0 and 100000`:                             testPlan(threadGroup(200_000, 1, sampler("/", ""))),
		`sends a request`:                                        testPlan(""),
		`a response timeout is`:                                  testPlan(threadGroup(1, 1, `<HTTPSamplerProxy><stringProp name="HTTPSampler.response_timeout">x</stringProp></HTTPSamplerProxy><hashTree/>`)),
		`begins with <jmeterTestPlan>`:                           `<plan/>`,
		`document type`:                                          `<!DOCTYPE x [<!ENTITY a "aaaa">]><jmeterTestPlan/>`,
		`not XML: invalid character entity &b;`:                  `<jmeterTestPlan>&b;</jmeterTestPlan>`,
		`not XML: unexpected EOF`:                                `<jmeterTestPlan>`,
		`not in iso-8859-1`:                                      `<?xml version="1.0" encoding="iso-8859-1"?><jmeterTestPlan/>`,
		`nested deeper than 128`:                                 strings.Repeat("<hashTree>", 200),
		`a reference to another element, ../r, is not supported`: `<jmeterTestPlan><hashTree><b reference="../r"/>`,
		`more than 250000 elements`:                              "<a>" + strings.Repeat("<b/>", 250_000),
		`this one follows none`:                                  `<jmeterTestPlan><hashTree><hashTree/></hashTree></jmeterTestPlan>`,
		`has a TestPlan`:                                         `<jmeterTestPlan><hashTree/></jmeterTestPlan>`,
		`a CSV file is in UTF-8`:                                 testPlan(threadGroup(1, 1, `<CSVDataSet><stringProp name="fileEncoding">UTF-16</stringProp></CSVDataSet><hashTree/>`+sampler("/", ""))),
		`no file x.csv`:                                          testPlan(threadGroup(1, 1, `<CSVDataSet><stringProp name="filename">x.csv</stringProp></CSVDataSet><hashTree/>`+sampler("/", ""))),
		`the pattern is not understood`:                          testPlan(threadGroup(1, 1, sampler("/", `<RegexExtractor><stringProp name="RegexExtractor.refname">x</stringProp><stringProp name="RegexExtractor.regex">(a</stringProp></RegexExtractor><hashTree/>`))),
		`${__jexl3(alert(1))} is not supported: it is a script of which not all is: the function alert`: testPlan(threadGroup(1, 1, sampler("/${__jexl3(alert(1))}", ""))),
		`a proxy is not supported: its time`:                                  testPlan(threadGroup(1, 1, sampler("/", "")+`<HTTPSamplerProxy><stringProp name="HTTPSampler.proxyHost">p.example</stringProp><stringProp name="HTTPSampler.proxyPort">1</stringProp></HTTPSamplerProxy><hashTree/>`)),
		`Java's own HTTP client is not supported: choose HttpClient4`:         testPlan(threadGroup(1, 1, `<HTTPSamplerProxy><stringProp name="HTTPSampler.implementation">Java</stringProp></HTTPSamplerProxy><hashTree/>`)),
		`a value that varies during the run is not supported here: ${__UUID}`: testPlan(threadGroup(1, 1, `<HTTPSamplerProxy><stringProp name="HTTPSampler.method">${__UUID}</stringProp></HTTPSamplerProxy><hashTree/>`)),
		`URLRewritingModifier is not supported`:                               testPlan(threadGroup(1, 1, sampler("/", `<URLRewritingModifier/><hashTree/>`))),
		`XPathAssertion is not supported: use a Response Assertion`:           testPlan(threadGroup(1, 1, sampler("/", `<XPathAssertion/><hashTree/>`))),
		`SizeAssertion is not supported: use a Response Assertion`:            testPlan(threadGroup(1, 1, sampler("/", `<SizeAssertion/><hashTree/>`))),
		`CriticalSectionController is not supported: use a Thread Group`:      testPlan(threadGroup(1, 1, `<CriticalSectionController/><hashTree>`+sampler("/", "")+`</hashTree>`)),
		`IncludeController is not supported: put the fragment into this plan`: testPlan(threadGroup(1, 1, `<IncludeController/><hashTree/>`)),
		`VariableThroughputTimer is not supported: use a Concurrency`:         testPlan(threadGroup(1, 1, sampler("/", `<kg.apc.jmeter.timers.VariableThroughputTimer/><hashTree/>`))),
		`the function __split is not supported: use ${__groovy(…)}`:           testPlan(threadGroup(1, 1, sampler("/${__split(a,b)}", ""))),
		`File.path: a value that varies during the run is not supported`:      testPlan(threadGroup(1, 1, `<CounterConfig><stringProp name="CounterConfig.name">f</stringProp></CounterConfig><hashTree/><HTTPSamplerProxy><stringProp name="HTTPSampler.method">POST</stringProp><elementProp name="HTTPsampler.Files"><collectionProp name="HTTPFileArgs.files"><elementProp name="x"><stringProp name="File.path">${f}</stringProp></elementProp></collectionProp></elementProp></HTTPSamplerProxy><hashTree/>`)),
		`UserParameters is not supported: use a CSV Data Set`:                 testPlan(threadGroup(1, 1, sampler("/", `<UserParameters/><hashTree/>`))),
		`RandomVariableConfig is not supported: use ${__Random(…)}`:           testPlan(threadGroup(1, 1, `<RandomVariableConfig/><hashTree/>`+sampler("/", ""))),
		`JMESPathExtractor is not supported`:                                  testPlan(threadGroup(1, 1, sampler("/", `<JMESPathExtractor/><hashTree/>`))),
		`RunTime is not supported`:                                            testPlan(threadGroup(1, 1, `<RunTime/><hashTree>`+sampler("/", "")+`</hashTree>`)),
		`to evaluate the condition for all children is not supported`:         testPlan(threadGroup(1, 1, `<IfController><boolProp name="IfController.evaluateAll">true</boolProp></IfController><hashTree>`+sampler("/", "")+`</hashTree>`)),
		`the mechanism DIGEST is not supported: BASIC is`:                     testPlan(`<AuthManager><collectionProp name="AuthManager.auth_list"><elementProp name=""><stringProp name="Authorization.mechanism">DIGEST</stringProp></elementProp></collectionProp></AuthManager><hashTree/>` + threadGroup(1, 1, sampler("/", ""))),
		`embedded resources are not supported: give those that count`:         testPlan(threadGroup(1, 1, `<HTTPSamplerProxy><boolProp name="HTTPSampler.image_parser">true</boolProp></HTTPSamplerProxy><hashTree/>`)),
		`CacheManager is not supported: take it out`:                          testPlan(`<CacheManager/><hashTree/>` + threadGroup(1, 1, sampler("/", ""))),
		`XPath2Extractor is not supported: use a CSS Selector`:                testPlan(threadGroup(1, 1, sampler("/", `<XPath2Extractor/><hashTree/>`))),
		`OpenModelThreadGroup is not supported: use a Thread Group`:           testPlan(`<OpenModelThreadGroup/><hashTree>` + sampler("/", "") + `</hashTree>`),
		`looks behind, which JMeter's engine cannot`:                          testPlan(threadGroup(1, 1, sampler("/", `<RegexExtractor><stringProp name="RegexExtractor.regex">(?&lt;=a)b</stringProp></RegexExtractor><hashTree/>`))),
		`the JSONPath $[name] is not understood`:                              testPlan(threadGroup(1, 1, sampler("/", `<JSONPostProcessor><stringProp name="JSONPostProcessor.referenceNames">x</stringProp><stringProp name="JSONPostProcessor.jsonPathExprs">$[name]</stringProp></JSONPostProcessor><hashTree/>`))),
		`has 2 names, 2 paths and 1 defaults`:                                 testPlan(threadGroup(1, 1, sampler("/", `<JSONPostProcessor><stringProp name="JSONPostProcessor.referenceNames">x;y</stringProp><stringProp name="JSONPostProcessor.jsonPathExprs">$.a;$.b</stringProp></JSONPostProcessor><hashTree/>`))),
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

// TestWhatIsNotSentSaysWhy: JMeter sends none of these, either.
func TestWhatIsNotSentSaysWhy(t *testing.T) {
	for target, want := range map[string]string{
		"/a?b=c": "", "/{id}": "a URL has no {; encode it", "/a[0]": "a URL has no [", "/a?b[0]=1": "",
	} {
		if got := illegalTarget(target); !strings.HasPrefix(got, want) || (want == "") != (got == "") {
			t.Errorf("%q: %q, want %q", target, got, want)
		}
	}
}

// testPlan wraps thread groups into a test plan.
func testPlan(inner string) string {
	return `<jmeterTestPlan version="1.2"><hashTree><TestPlan testname="P"/><hashTree>` + inner + `</hashTree></hashTree></jmeterTestPlan>`
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

// evaluated is what a text with references comes to.
func evaluated(t *testing.T, text string) string {
	t.Helper()
	j := &reader{Builder: plan.NewBuilder(plan.Source{}, "p"), constants: map[string]string{}, runtime: map[string]bool{}, listed: map[string]bool{}}
	s := &expr.Scope{RNG: rand.New(rand.NewPCG(1, 1)), Values: make([]expr.Value, 8), User: &onlyUser{}}
	return string(j.compile(plan.Position{}, text, expr.AsText).Render(nil, s))
}

// The digests are those of JMeter's Java; one that it has not is refused, not empty.
func TestDigestsAreJavas(t *testing.T) {
	for text, want := range map[string]string{
		"${__digest(SHA-224,abc,,,)}":                          "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7",
		"${__digest(md5,a,b,true,)}":                           "187EF4436122D1CC2F40DC2B92F0EBA0",
		"${__digest(SHA-1,abc,,false)}":                        "a9993e364706816aba3e25717850c26c9cd0d89d",
		"${__intSum(2147483647,1)}":                            "-2147483648",
		"${__javaScript(123456789.125)} ${__javaScript(1e21)}": "123456789.125 1e+21",
		"${__Random(5,5)}":                                     "5",
	} {
		if got := evaluated(t, text); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	berlin, err := time.LoadLocation("Europe/Berlin")
	fatal.If(t, err)
	here := time.Local
	time.Local = berlin // no test of this package that knows zones runs in parallel
	// Java counts hours from one to the other side of summer time otherwise: a failure, not a guess.
	if got := evaluated(t, "${__timeShift(yyyy-MM-dd HH:mm,,P200D,,)} ${__timeShift(yyyy-MM-dd HH:mm,,PT2H,,)}"); got != " 2023-11-15 01:13" {
		t.Errorf("over the beginning of summer time: %q", got)
	}
	time.Local = here
	defer func() {
		if e, ok := recover().(error); !ok || !strings.Contains(e.Error(), "the digest MD2 is not supported") {
			t.Error(e)
		}
	}()
	t.Errorf("MD2 gives %q", evaluated(t, "${__digest(MD2,abc)}"))
}

// A call with too few arguments is refused with the number that it takes.
func TestACallSaysHowManyArgumentsItTakes(t *testing.T) {
	for text, want := range map[string]string{
		"${__Random(1)}": "__Random takes 2 to 3",
		// A form of a call that is not held next to JMeter is refused, never guessed.
		"${__Random(1,)}": "an empty argument 2 is not supported", "${__RandomString(5,,x)}": "an empty argument 2 is not supported", "${__intSum(2147483648,1)}": `"2147483648" is no whole number of 32 bits`,
		"${__timeShift(dd MMMM yyyy,,P2D,fr_FR,)}": "the argument 4 is not supported: leave it empty", "${__timeShift(yyyy,2020,P1D,)}": "the argument 2 is not supported: leave it empty", "${__time(YYYY-MM-dd,)}": `the date format "YYYY-MM-dd" is not supported: write yyyy for the year`,
		"${__P(user.dir)}": "user.dir is a property of JMeter's Java, which is not here: give it by --property", "${__FileToString(a,UTF-16,)}": "the argument 2 is not supported: leave it empty",
	} {
		func() {
			defer func() {
				if e, ok := recover().(error); !ok || !strings.HasSuffix(e.Error(), want) {
					t.Errorf("%s: %v", text, e)
				}
			}()
			t.Errorf("%s gives %q", text, evaluated(t, text))
		}()
	}
}

// onlyUser is a virtual user outside of a run.
type onlyUser struct{ state map[any]any }

func (*onlyUser) Now() time.Time { return time.Unix(1700000000, 0) }
func (*onlyUser) Number() int    { return 0 }
func (*onlyUser) Group() string  { return "G" }
func (*onlyUser) Failed() bool   { return false }

func (*onlyUser) Part() (index, of int64) { return 0, 1 }

func (u *onlyUser) State(_ expr.StateOf, key any, init func() any) any {
	if u.state == nil {
		u.state = map[any]any{}
	}
	if _, ok := u.state[key]; !ok {
		u.state[key] = init()
	}
	return u.state[key]
}
