package jmeter

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"whittle/internal/fatal"
	"whittle/load/expr"
	"whittle/load/plan"
)

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
	if got := evaluated(t, "${__timeShift(yyyy-MM-dd HH:mm,2024-03-31 00:30,PT2H,,)} ${__timeShift(yyyy-MM-dd HH:mm,2024-03-31 04:30,PT2H,,)}"); got != " 2024-03-31 06:30" {
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
		"${__timeShift(dd MMMM yyyy,21 janvier 2018,P2D,fr_FR,)}": "the argument 4 is not supported: leave it empty", "${__time(YYYY-MM-dd,)}": `the date format "YYYY-MM-dd" is not supported: write yyyy for the year`,
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
