package jmeter

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/internal/fatal"
	"whittle/load/expr"
	"whittle/load/jmxtest"
	"whittle/load/plan"
)

func TestWhatDoesNotRunIsRefusedByNameAndPlace(t *testing.T) {
	once := func(inner string) string { return testPlan(threadGroup(1, 1, inner)) }
	request := func(property, value string) string {
		return configured("HTTPSamplerProxy", "HTTPSampler."+property, value)
	}
	upload := func(name, path string) string {
		return `<HTTPSamplerProxy><stringProp name="HTTPSampler.method">POST</stringProp><elementProp name="HTTPsampler.Files">` +
			`<collectionProp name="HTTPFileArgs.files"><elementProp name="` + name + `"><stringProp name="File.path">` + path +
			`</stringProp></elementProp></collectionProp></elementProp></HTTPSamplerProxy><hashTree/>`
	}
	authorization := func(properties, mechanism string) string {
		return `<AuthManager><collectionProp name="AuthManager.auth_list"><elementProp name="">` + properties +
			`<stringProp name="Authorization.mechanism">` + mechanism + `</stringProp></elementProp></collectionProp></AuthManager><hashTree/>`
	}
	byPath := func(names, paths string) string {
		return configured("JSONPostProcessor", "JSONPostProcessor.referenceNames", names, "JSONPostProcessor.jsonPathExprs", paths)
	}
	script := func(name string) string {
		return once(sampler("/", "<"+name+` testname="s"><stringProp name="script">class X {}</stringProp></`+name+`><hashTree/>`))
	}
	for says, src := range map[string]string{
		`p.jmx:1:`: script("JSR223PreProcessor"),
		`JSR223PreProcessor "s" is not supported: it is a script`: script("JSR223PreProcessor"),
		`BeanShellPostProcessor "s" is not supported: it is a sc`: script("BeanShellPostProcessor"),
		`BSFSampler is not supported: it is a script`:             once(configured("BSFSampler", "scriptLanguage", "jython", "script", "x")),
		`the mechanism OAUTH is not supported`: testPlan(authorization(`<stringProp name="Authorization.url">http://x/</stringProp>`, "OAUTH") +
			threadGroup(1, 1, sampler("/", ""))),
		`the function __nope is not supported: use ${__groovy(…)}`: once(sampler("/${__nope}", "")),
		`no file up.txt`:                once(upload("", "up.txt")),
		`assertion on Assertion.smell`:  once(sampler("/", configured("ResponseAssertion", "Assertion.test_field", "Assertion.smell"))),
		`the action 9 is not supported`: once(`<TestAction><intProp name="ActionProcessor.action">9</intProp></TestAction><hashTree/>` + sampler("/", "")),
		`there is no module P / P / Frag`: once(`<ModuleController><collectionProp name="ModuleController.node_path">` +
			`<stringProp name="1">P</stringProp><stringProp name="2">P</stringProp><stringProp name="3">Frag</stringProp>` +
			`</collectionProp></ModuleController><hashTree/>` + sampler("/", "")),
		`"rows" names no file: JMeter`: once(`<CSVDataSet testname="rows"><stringProp name="filename"> </stringProp></CSVDataSet><hashTree/>` +
			sampler("/", "")),
		`below RandomController is not supported`: once(`<RandomController/><hashTree><LoopController/><hashTree>` + sampler("/", "") + `</hashTree></hashTree>`),
		// JMeter's library reads it, whittle does not.
		`the JSONPath $.a[?(@.b contains 'x')] is not u`: once(sampler("/", byPath("x", "$.a[?(@.b contains 'x')]"))),
		`the JSONPath $.b[?(@.c contains 'x')] is not u`: once(sampler("/", configured("JSONPathAssertion", "JSON_PATH", "$.b[?(@.c contains 'x')]"))),
		// Java knows it, whittle does not.
		`JSR223Timer is not supported: use a Constant Timer of ${__groovy(…)}`: once(sampler("/", `<JSR223Timer/><hashTree/>`)),
		`the content encoding Shift_JIS is not su`:                             once(request("contentEncoding", "Shift_JIS")),
		// What JMeter's engine alone reads is no JavaScript, but holds there.
		`its condition is of JMeter's own engine alone`: once(
			`<IfController><stringProp name="IfController.condition">&lt;a&gt;1&lt;/a&gt; == 1</stringProp></IfController><hashTree>` +
				sampler("/", "") + `</hashTree>`),
		`JDBCSampler is not supported`: once("<JDBCSampler/><hashTree/>"),
		`on_sample_error: dance is not supported`: strings.Replace(once(sampler("/", "")), "<elementProp",
			`<stringProp name="ThreadGroup.on_sample_error">dance</stringProp><elementProp`, 1),
		`a number is wanted, not "often"`:                        strings.Replace(once(sampler("/", "")), `loops">1`, `loops">often`, 1),
		`is not within 0 and 100000`:                             testPlan(threadGroup(200_000, 1, sampler("/", ""))),
		`sends a request`:                                        testPlan(""),
		`a response timeout is`:                                  once(request("response_timeout", "x")),
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
		`a CSV file is in UTF-8`:                                 once(configured("CSVDataSet", "fileEncoding", "UTF-16") + sampler("/", "")),
		`no file x.csv`:                                          once(configured("CSVDataSet", "filename", "x.csv") + sampler("/", "")),
		`the pattern is not understood`: once(sampler("/",
			configured("RegexExtractor", "RegexExtractor.refname", "x", "RegexExtractor.regex", "(a"))),
		`${__jexl3(alert(1))} is not supported: it is a script of which not all is: the function alert`: once(sampler("/${__jexl3(alert(1))}", "")),
		`a proxy is not supported: its time`: once(
			sampler("/", "") + configured("HTTPSamplerProxy", "HTTPSampler.proxyHost", "p.example", "HTTPSampler.proxyPort", "1")),
		`Java's own HTTP client is not supported: choose HttpClient4`:         once(request("implementation", "Java")),
		`a value that varies during the run is not supported here: ${__UUID}`: once(request("method", "${__UUID}")),
		`URLRewritingModifier is not supported`:                               once(sampler("/", `<URLRewritingModifier/><hashTree/>`)),
		`XPathAssertion is not supported: use a Response Assertion`:           once(sampler("/", `<XPathAssertion/><hashTree/>`)),
		`SizeAssertion is not supported: use a Response Assertion`:            once(sampler("/", `<SizeAssertion/><hashTree/>`)),
		`CriticalSectionController is not supported: use a Thread Group`:      once(`<CriticalSectionController/><hashTree>` + sampler("/", "") + `</hashTree>`),
		`IncludeController is not supported: put the fragment into this plan`: once(`<IncludeController/><hashTree/>`),
		`VariableThroughputTimer is not supported: use a Concurrency`:         once(sampler("/", `<kg.apc.jmeter.timers.VariableThroughputTimer/><hashTree/>`)),
		`the function __split is not supported: use ${__groovy(…)}`:           once(sampler("/${__split(a,b)}", "")),
		`File.path: a value that varies during the run is not supported`:      once(configured("CounterConfig", "CounterConfig.name", "f") + upload("x", "${f}")),
		`UserParameters is not supported: use a CSV Data Set`:                 once(sampler("/", `<UserParameters/><hashTree/>`)),
		`RandomVariableConfig is not supported: use ${__Random(…)}`:           once(`<RandomVariableConfig/><hashTree/>` + sampler("/", "")),
		`JMESPathExtractor is not supported`:                                  once(sampler("/", `<JMESPathExtractor/><hashTree/>`)),
		`RunTime is not supported`:                                            once(`<RunTime/><hashTree>` + sampler("/", "") + `</hashTree>`),
		`to evaluate the condition for all children is not supported`: once(
			`<IfController><boolProp name="IfController.evaluateAll">true</boolProp></IfController><hashTree>` + sampler("/", "") + `</hashTree>`),
		`the mechanism DIGEST is not supported: BASIC is`: testPlan(authorization("", "DIGEST") + threadGroup(1, 1, sampler("/", ""))),
		`embedded resources are not supported: give those that count`: once(
			`<HTTPSamplerProxy><boolProp name="HTTPSampler.image_parser">true</boolProp></HTTPSamplerProxy><hashTree/>`),
		`CacheManager is not supported: take it out`:                testPlan(`<CacheManager/><hashTree/>` + threadGroup(1, 1, sampler("/", ""))),
		`XPath2Extractor is not supported: use a CSS Selector`:      once(sampler("/", `<XPath2Extractor/><hashTree/>`)),
		`OpenModelThreadGroup is not supported: use a Thread Group`: testPlan(`<OpenModelThreadGroup/><hashTree>` + sampler("/", "") + `</hashTree>`),
		`looks behind, which JMeter's engine cannot`: once(sampler("/",
			configured("RegexExtractor", "RegexExtractor.regex", "(?<=a)b"))),
		`the JSONPath $[name] is not understood`: once(sampler("/", byPath("x", "$[name]"))),
		`has 2 names, 2 paths and 1 defaults`:    once(sampler("/", byPath("x;y", "$.a;$.b"))),
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

// What a plan is made of.
var testPlan, threadGroup, sampler, configured = jmxtest.Plan, jmxtest.Group, jmxtest.Get, jmxtest.Element

func noFiles(name string) ([]byte, error) {
	return nil, whittle.Errorf(whittle.NotFound, "no file %s", name)
}

// evaluated is what a text with references comes to, or why it is refused.
func evaluated(text string) (is string, err error) {
	defer func() {
		if e, ok := recover().(error); ok {
			err = e
		}
	}()
	j := &reader{Builder: plan.NewBuilder(plan.Source{}, "p"), constants: map[string]string{}, runtime: map[string]bool{}, listed: map[string]bool{}}
	s := &expr.Scope{RNG: rand.New(rand.NewPCG(1, 1)), Values: make([]expr.Value, 8), User: &onlyUser{}}
	return string(j.compile(plan.Position{}, text, expr.AsText).Render(nil, s)), nil
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
		if got, err := evaluated(text); got != want || err != nil {
			t.Errorf("%s: %q, %v; want %q", text, got, err, want)
		}
	}
	berlin, err := time.LoadLocation("Europe/Berlin")
	fatal.If(t, err)
	here := time.Local
	time.Local = berlin // no test of this package that knows zones runs in parallel
	// Java counts hours from one to the other side of summer time otherwise: a failure, not a guess.
	if got, _ := evaluated("${__timeShift(yyyy-MM-dd HH:mm,,P200D,,)} ${__timeShift(yyyy-MM-dd HH:mm,,PT2H,,)}"); got != " 2023-11-15 01:13" {
		t.Errorf("over the beginning of summer time: %q", got)
	}
	time.Local = here
}

// A call with too few arguments is refused with the number that it takes.
func TestACallSaysHowManyArgumentsItTakes(t *testing.T) {
	for text, want := range map[string]string{
		"${__Random(1)}":       "__Random takes 2 to 3",
		"${__digest(MD2,abc)}": "the digest MD2 is not supported",
		// A form of a call that is not held next to JMeter is refused, never guessed.
		"${__Random(1,)}":                          "an empty argument 2 is not supported",
		"${__RandomString(5,,x)}":                  "an empty argument 2 is not supported",
		"${__intSum(2147483648,1)}":                `"2147483648" is no whole number of 32 bits`,
		"${__timeShift(dd MMMM yyyy,,P2D,fr_FR,)}": "the argument 4 is not supported: leave it empty",
		"${__timeShift(yyyy,2020,P1D,)}":           "the argument 2 is not supported: leave it empty",
		"${__time(YYYY-MM-dd,)}":                   `the date format "YYYY-MM-dd" is not supported: write yyyy for the year`,
		"${__P(user.dir)}":                         "user.dir is a property of JMeter's Java, which is not here: give it by --property",
		"${__FileToString(a,UTF-16,)}":             "the argument 2 is not supported: leave it empty",
	} {
		if got, err := evaluated(text); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %q, %v; want %s", text, got, err, want)
		}
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
