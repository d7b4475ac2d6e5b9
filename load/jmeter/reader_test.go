package jmeter

import (
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"whittle/load/expr"
	"whittle/load/plan"
)

// The text between many elements is read in proportion to its length.
func TestTextBetweenElementsIsReadOnce(t *testing.T) {
	src := []byte("<a>" + strings.Repeat("<b/>\n        ", 50_000) + "</a>")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	root := parseXML("p.jmx", src)
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 200<<20 || len(root.children) != 50_000 {
		t.Errorf("%d bytes for %d of source, %d elements", used, len(src), len(root.children))
	}
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
		"${__digest(SHA-224,abc,,,)}":   "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7",
		"${__digest(md5,a,b,true,)}":    "187EF4436122D1CC2F40DC2B92F0EBA0",
		"${__digest(SHA-1,abc,,false)}": "a9993e364706816aba3e25717850c26c9cd0d89d",
		"${__machineName(m)} ${m}":      "localhost localhost",
	} {
		if got := evaluated(t, text); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	defer func() {
		if e, ok := recover().(error); !ok || !strings.Contains(e.Error(), "the digest MD2 is not supported") {
			t.Error(e)
		}
	}()
	t.Errorf("MD2 gives %q", evaluated(t, "${__digest(MD2,abc)}"))
}

// A call with too few arguments is refused with the number that it takes.
func TestACallSaysHowManyArgumentsItTakes(t *testing.T) {
	for text, want := range map[string]string{"${__substring(abc,1)}": "__substring takes 3 at least", "${__Random(1)}": "__Random takes 2 to 3"} {
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

// A date is read and written in one zone: the machine's, as by Java, or UTC where the
// script asks for that.
func TestScriptsHaveTheMachinesTimeZone(t *testing.T) {
	local := time.Local
	t.Cleanup(func() { time.Local = local })
	time.Local = time.FixedZone("EST", -5*60*60)
	for text, want := range map[string]string{
		`new java.text.SimpleDateFormat("yyyy-MM-dd HH:mm").parse("2024-03-01 20:30").getTime().toString()`:                                 "1709343000000",
		`def f = new java.text.SimpleDateFormat("yyyy-MM-dd HH:mm"); f.format(f.parse("2024-03-01 20:30"))`:                                 "2024-03-01 20:30",
		`def f = new java.text.SimpleDateFormat("yyyy-MM-dd HH:mm"); f.setTimeZone(TimeZone.getTimeZone("UTC")); f.format(new Date(1000L))`: "1970-01-01 00:00",
		`new Date(1000L).format("yyyy-MM-dd HH:mm")`:                                                                                        "1969-12-31 19:00",
		`new Date(1000L).toString()`: "Wed Dec 31 19:00:01 EST 1969",
		`Calendar c = Calendar.getInstance(); c.setTimeInMillis(1000L); c.get(Calendar.YEAR) + " " + c.get(Calendar.HOUR_OF_DAY)`: "1969 19",
		`java.time.LocalDate.now().toString() + " " + java.time.LocalDate.now().getDayOfMonth()`:                                  "2023-11-14 14",
	} {
		j, p, err := scripted(t, "groovy", "vars.put('out', ({ -> "+strings.ReplaceAll(text, "$", `\$`)+" })().toString())")
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		s := &expr.Scope{RNG: rand.New(rand.NewPCG(1, 1)), Values: make([]expr.Value, 8), User: &onlyUser{}}
		if _, err := p.run(s, &scriptRun{}); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if got, _ := j.value(s, "out"); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// A condition in JavaScript is what JavaScript makes of it.
func TestConditionsAreJavaScripts(t *testing.T) {
	for text, want := range map[string]bool{
		`"${n}" == "5"`: true, `${n} == 5`: true, `"${n}" == 5 && ${n} < 6`: true, `${n} ^ 5 == 25`: false, `(${n} ^ 5) == 0`: true, `"${none}" == 0`: true,
		`true == ${n} > 1`: true, `(${n} & 4) == 4`: true,
	} {
		j, _, err := scripted(t, "javascript", "1")
		if err != nil {
			t.Fatal(err)
		}
		j.Define("none")
		s := &expr.Scope{RNG: rand.New(rand.NewPCG(1, 1)), Values: make([]expr.Value, 8), User: &onlyUser{}}
		j.assign(s, "n", "5")
		j.assign(s, "none", "")
		if got := j.holds(plan.Position{}, "c", text)(s); got != want {
			t.Errorf("%s is %t", text, got)
		}
	}
}
