package compare

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/carve/compare/comparetest"
)

// TestNoCauseByChance. Hypothesis: the candidate's value has nothing to do with the
// monolith's, so no cause is right. Of 484 differences with 12 pairs each, of
// values of eleven kinds, not one may be given a cause. The chance that one kind of
// coincidence that is allowed (a date a day off, a last digit one more) comes in 11
// of 12 pairs is below 10^-9 for each.
func TestNoCauseByChance(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 7))
	words := strings.Fields("open paid new closed waiting sent lost shipped in_progress ON_HOLD Ann Bob Zürich Ångström a b é 1.10.2 true null none")
	kinds := map[string]func() string{
		"word":    func() string { return words[r.IntN(len(words))] },
		"words":   func() string { return words[r.IntN(len(words))] + " " + words[r.IntN(len(words))] },
		"small":   func() string { return fmt.Sprint(r.IntN(20)) },
		"large":   func() string { return fmt.Sprint(r.IntN(1e9)) },
		"decimal": func() string { return fmt.Sprintf("%.*f", r.IntN(4), 100*r.Float64()) },
		"price":   func() string { return fmt.Sprintf("%.2f", float64(r.IntN(500))/100) },
		"double":  func() string { return fmt.Sprint(r.Float64()) },
		"time": func() string {
			return fmt.Sprintf("2026-%02d-%02dT%02d:%02d:%02dZ", 1+r.IntN(12), 1+r.IntN(28), r.IntN(24), r.IntN(60), r.IntN(60))
		},
		"quarters": func() string { return fmt.Sprintf("2026-01-%02dT%02d:%02d:00Z", 1+r.IntN(2), r.IntN(24), 15*r.IntN(4)) },
		"date":     func() string { return fmt.Sprintf("2026-%02d-%02d", 1+r.IntN(12), 1+r.IntN(12)) },
		"hex":      func() string { return fmt.Sprintf("%016x", r.Uint64()) },
	}
	list := func(of func() string) string {
		var parts []string
		for range 3 + r.IntN(3) {
			parts = append(parts, of())
		}
		return `["` + strings.Join(parts, `","`) + `"]`
	}
	for name, of := range kinds {
		for range 250 / len(kinds) {
			for form, value := range map[string]func() string{
				"string": func() string { return `"` + of() + `"` },
				"list":   func() string { return list(of) },
			} {
				c := causeCase{name: name}
				for range 12 {
					a, b := value(), value()
					c.pairs = append(c.pairs, a, b)
				}
				if got := guessed(t, whittle.JSON, c); got != "" {
					t.Errorf("%s of %s: %q\n%s", form, name, got, strings.Join(c.pairs, " "))
				}
			}
		}
	}
}

// TestAStaleValue: a candidate that gives what the monolith gave to the same
// request before is called stale.
func TestAStaleValue(t *testing.T) {
	j := judgeOf(t, whittle.Comparison{Kind: whittle.JSON})
	last := map[int]string{}
	for i := range 200 {
		key := i % 5
		body := fmt.Sprintf(`{"key":%d,"rate":%d}`, key, 100_003+17*i*i)
		x := comparetest.Gave(float64(i), 1, fmt.Sprintf("/rates/%d", key), body)
		x.Candidate = whittle.Response{Status: 200, Body: []byte(body)}
		if i%10 == 7 && last[key] != "" {
			x.Candidate.Body = []byte(last[key])
		}
		last[key] = body
		j.Observe(x)
	}
	for _, f := range j.Verdict().Findings {
		if f.Path == "$.rate" && strings.Contains(f.Cause, "it is stale") {
			return
		}
	}
	t.Errorf("%+v", j.Verdict().Findings)
}

// causeCase is one fault with some of the values that it gave: the monolith's and
// the candidate's, in turn. An empty one is a missing member. cause is what must
// be in the guess; empty: nothing must be guessed.
type causeCase struct {
	name, cause string
	pairs       []string
}

// realBugs are faults that services have when they are written anew. Those that
// follow a public report name it, and have its values or ones like them; the others
// are made up.
var realBugs = []causeCase{
	// Rounding.
	{"BigDecimal HALF_EVEN for HALF_UP (axelor-open-suite 14254)", "rounds to 2 decimals, half even", []string{`10.125`, `10.12`, `3.775`, `3.78`, `0.625`, `0.62`, `7.111`, `7.11`}},
	{"bankers' rounding (RubyMoney 863)", "rounds to whole numbers, half even", []string{`2.5`, `2`, `4.5`, `4`, `1.6`, `2`, `3.5`, `4`}},
	{"int cast of an average", "cuts off to whole numbers", []string{`12.7`, `12`, `3.9`, `3`, `8.2`, `8`}},
	{"rounds to cents in one place only", "rounds to 2 decimals", []string{`12.1234`, `12.12`, `3.456`, `3.46`, `8.2199`, `8.22`}},
	{"sum of rounded lines against rounded sum", "candidate minus monolith is 0.01", []string{`10.12`, `10.13`, `99.99`, `100.00`, `7.45`, `7.46`}},

	// Formats of numbers.
	{"trailing zeros (Newtonsoft.Json 2220)", "", []string{`"12.30"`, `"12.3"`, `"87.50"`, `"87.5"`, `"1.00"`, `"1"`}},
	{"fixed to two decimals", "", []string{`"12.3"`, `"12.30"`, `"87.5"`, `"87.50"`, `"1"`, `"1.00"`}},
	{"0.1 + 0.2", "the value went through a binary float on one side: its last digits", []string{`0.3`, `0.30000000000000004`, `2.2`, `2.2000000000000002`, `4.35`, `4.3499999999999996`}},
	{"float32 in a struct (dart-lang/sdk 26951)", "the value went through a binary float on one side: its last digits", []string{
		`1.2`, `1.2000000476837158`, `11.4`, `11.399999618530273`, `1245.678`, `1245.677978515625`,
	}},
	{"snowflake ids through a double (upickle 522)", "the value went through a binary float on one side: its last digits", []string{
		`738529527931269425`, `738529527931269376`, `1610521604143693812`, `1610521604143693824`, `6150769120280496265`, `6150769120280496000`,
	}},
	{"thousands separators", "", []string{`"1234567"`, `"1,234,567"`, `"12345.50"`, `"12,345.50"`, `"9876"`, `"9,876"`}},
	{"zip codes as numbers", "", []string{`"01067"`, `"1067"`, `"00501"`, `"501"`, `"07030"`, `"7030"`}},
	{"cents for euros", "multiplied by 100", []string{`12.5`, `1250`, `3`, `300`, `99.99`, `9999`}},
	{"a constant for a counter", "one and the same value", []string{`17`, `100`, `29`, `100`, `44`, `100`, `81`, `100`}},

	// Types and nothing.
	{"ids as strings (powermem 91)", "", []string{`653247040368672768`, `"653247040368672768"`, `17`, `"17"`, `4`, `"4"`}},
	{"decimals as numbers", "", []string{`"12.30"`, `12.3`, `"7"`, `7`, `"0.5"`, `0.5`}},
	{"tinyint(1)", "", []string{`true`, `1`, `false`, `0`, `true`, `1`}},
	{"nil slice (radar 283)", "an empty list is null", []string{`[]`, `null`, `[]`, `null`, `[]`, `null`}},
	{"Jackson NON_NULL", "null is what is left out", []string{`null`, ``, `null`, ``, `null`, ``}},
	{"proto3 strings", "null is an empty string", []string{`null`, `""`, `null`, `""`, `null`, `""`}},
	{"proto3 numbers", "null is 0", []string{`null`, `0`, `null`, `0`, `null`, `0`}},
	{"PHP's empty map", "an empty object is an empty list", []string{`{}`, `[]`, `{}`, `[]`, `{}`, `[]`}},
	{"time.Time{}", "null is the zero time", []string{`null`, `"0001-01-01T00:00:00Z"`, `null`, `"0001-01-01T00:00:00Z"`, `null`, `"0001-01-01T00:00:00Z"`}},

	// Times.
	{"local time for UTC (w3act 261)", "shifted by +1 h", []string{
		`"2013-03-07T12:12:20Z"`, `"2013-03-07T13:12:20Z"`, `"2013-04-06T13:00:00Z"`, `"2013-04-06T14:00:00Z"`, `"2013-11-02T08:30:00Z"`, `"2013-11-02T09:30:00Z"`,
	}},
	{"an offset in place of Z", "same instant in another time zone", []string{
		`"2024-01-07T12:12:20Z"`, `"2024-01-07T13:12:20+01:00"`,
		`"2024-07-07T12:12:20Z"`, `"2024-07-07T14:12:20+02:00"`,
		`"2024-02-07T01:12:20Z"`, `"2024-02-07T02:12:20+01:00"`,
	}},
	{"+00:00 in place of Z", "", []string{
		`"2024-01-07T12:12:20Z"`, `"2024-01-07T12:12:20+00:00"`,
		`"2024-07-07T12:12:20Z"`, `"2024-07-07T12:12:20+00:00"`,
		`"2024-02-07T01:12:20Z"`, `"2024-02-07T01:12:20+00:00"`,
	}},
	{"a time zone lost (data-peek 197)", "", []string{
		`"2024-01-07T12:12:20Z"`, `"2024-01-07T12:12:20"`, `"2024-07-07T12:12:20Z"`, `"2024-07-07T12:12:20"`, `"2024-02-07T01:12:20Z"`, `"2024-02-07T01:12:20"`,
	}},
	{"microseconds (built_value.dart 206)", "", []string{
		`"2017-08-10 03:59:29.575328Z"`, `"2017-08-10 03:59:29.575Z"`,
		`"2017-08-11 13:59:29.123999Z"`, `"2017-08-11 13:59:29.123Z"`,
		`"2017-09-10 03:00:00.000001Z"`, `"2017-09-10 03:00:00.000Z"`,
	}},
	{"a date a day early", "", []string{`"2024-03-01"`, `"2024-02-29"`, `"2024-07-15"`, `"2024-07-14"`, `"2025-01-01"`, `"2024-12-31"`}},
	{"epoch in ms for s", "the value is multiplied by 1,000: another unit", []string{`1543269513`, `1543269513000`, `1543269514`, `1543269514000`, `1600000000`, `1600000000000`}},

	// Texts.
	{"double UTF-8 (everything2 3042)", "", []string{`"Åmål"`, `"Ã…mÃ¥l"`, `"Müller"`, `"MÃ¼ller"`, `"Ätschegäbele"`, `"Ã„tschegÃ¤bele"`}},
	{"replacement characters", "", []string{`"Döring"`, `"D�ring"`, `"Müller"`, `"M�ller"`, `"Åmål"`, `"�m�l"`}},
	{"replacement characters for Latin-1", "", []string{"\"caf\xe9\"", `"caf�"`, "\"\xe4\"", `"�"`, "\"M\xfcller\"", `"M�ller"`}},
	{"entities (lbry.go 51)", "", []string{`"a & b"`, `"a &amp; b"`, `"x < y"`, `"x &lt; y"`, `"\"q\""`, `"&#34;q&#34;"`}},
	{"URL encoding", "", []string{`"a b"`, `"a%20b"`, `"x&y"`, `"x%26y"`, `"ü"`, `"%C3%BC"`}},
	{"upper case enum", "upper and lower case differ", []string{`"open"`, `"OPEN"`, `"paid"`, `"PAID"`, `"closed"`, `"CLOSED"`}},
	{"CHAR(10) trimmed", "", []string{`"abc       "`, `"abc"`, `"de        "`, `"de"`, `"f         "`, `"f"`}},
	{"CRLF", "", []string{`"a\r\nb"`, `"a\nb"`, `"c\r\nd\r\n"`, `"c\nd\n"`, `"\r\n"`, `"\n"`}},
	{"VARCHAR(10)", "cut off after 10 characters", []string{`"a name that is long"`, `"a name tha"`, `"Constantinople"`, `"Constantin"`, `"Llanfairpwllgwyn"`, `"Llanfairpw"`}},

	// Lists.
	{"page from 0 (roadie 17)", "candidate minus monolith is 3", []string{`[1,2,3,4,5,6]`, `[4,5,6,7,8,9]`, `[11,12,13,14,15,16]`, `[14,15,16,17,18,19]`, `[21,22,23,24,25,26]`, `[24,25,26,27,28,29]`}},
	{"a default limit", "always after 3 elements", []string{`[1,2,3,4,5]`, `[1,2,3]`, `[7,8,9,10]`, `[7,8,9]`, `[4,4,5,6,7,8]`, `[4,4,5]`}},
	{"ORDER BY ... DESC lost", "", []string{`[5,4,3]`, `[3,4,5]`, `[9,2,1]`, `[1,2,9]`, `[8,7]`, `[7,8]`}},

	// Nothing can be said of these, though something may look as if it could.
	{"two pairs are too few", "", []string{`"open"`, `"OPEN"`, `"paid"`, `"PAID"`}},
	{"other words", "", []string{`"open"`, `"waiting"`, `"paid"`, `"closed"`, `"new"`, `"old"`}},
	{"other names", "", []string{`"Ann"`, `"Bob"`, `"Zoe"`, `"Max"`, `"Eve"`, `"Kim"`}},
	{"other numbers", "", []string{`17`, `29`, `81`, `12`, `5`, `991`}},
	{"other prices", "", []string{`17.99`, `29.5`, `81.25`, `12.2`, `5.1`, `9.99`}},
	{"one pair again and again, by chance ten times", "", []string{`10`, `100`, `10`, `100`, `10`, `100`, `10`, `100`}},
	{"one pair again and again, by chance one less", "", []string{`5`, `4`, `5`, `4`, `5`, `4`}},
	{"other times", "", []string{`"2024-01-07T12:12:20Z"`, `"2024-01-07T12:19:21Z"`, `"2024-07-07T12:12:20Z"`, `"2024-07-01T14:12:29Z"`, `"2024-02-07T01:12:20Z"`, `"2024-02-09T02:13:20Z"`}},
	{"each by other hours", "", []string{`"2024-01-07T12:00:00Z"`, `"2024-01-07T15:00:00Z"`, `"2024-07-07T12:00:00Z"`, `"2024-07-07T10:00:00Z"`, `"2024-02-07T01:00:00Z"`, `"2024-02-07T09:00:00Z"`}},
	{"other ids", "", []string{
		`"9b2f0c1e-1111-4222-8333-444455556666"`, `"1b2f0c1e-1111-4222-8333-444455556666"`,
		`"aaaaaaaa-1111-4222-8333-444455556667"`, `"caaaaaaa-1111-4222-8333-444455556667"`,
		`"bbbbbbbb-1111-4222-8333-444455556668"`, `"dbbbbbbb-1111-4222-8333-444455556668"`,
	}},
	{"only half are upper case", "", []string{`"open"`, `"OPEN"`, `"paid"`, `"PAID"`, `"closed"`, `"CLOSED"`, `"a"`, `"new"`, `"b"`, `"old"`, `"c"`, `"none"`}},
	{"lost values that are not empty", "", []string{`17`, ``, `"a"`, ``, `true`, ``}},
	{"null in place of values", "", []string{`"a"`, `null`, `17`, `null`, `"a"`, `null`}},
	{"lists with other elements", "", []string{`[1,2,3]`, `[1,9,3]`, `[4,5,6]`, `[4,5,8]`, `[7,8,9]`, `[7,0,9]`}},
	{"shuffled lists", "", []string{`[3,1,2,4]`, `[1,3,4,2]`, `[9,7,8,6]`, `[6,9,7,8]`, `[5,2,4,1]`, `[2,5,1,4]`}},
	{"a wrong total", "", []string{`100.00`, `84.03`, `50.00`, `46.73`, `19.90`, `16.5`}},
}

// realTexts are faults of bodies that are compared by their bytes.
var realTexts = []causeCase{
	{"JSON compared by its bytes", "", []string{`{"a":1,"b":2}`, `{"b":2,"a":1}`, `[1,2]`, `[1, 2]`, `{"u":"a/b"}`, `{"u":"a\/b"}`}},
	{"escaped entities in a page", "", []string{"<p>it's</p>", "<p>it&#39;s</p>", "<p>a'b</p>", "<p>a&#39;b</p>", "<p>'</p>", "<p>&#39;</p>"}},
	{"an amount in a text", "", []string{"You owe 1.50 EUR.", "You owe 1.5 EUR.", "You owe 20.00 EUR.", "You owe 20 EUR.", "You owe 7.10 EUR.", "You owe 7.1 EUR."}},
	{"a time in a text", "", []string{
		"at 2024-07-07T10:00:00Z, by A", "at 2024-07-07T12:00:00Z, by A",
		"at 2024-07-08T11:30:00Z, by B", "at 2024-07-08T13:30:00Z, by B",
		"at 2024-07-09T23:00:00Z", "at 2024-07-10T01:00:00Z",
	}},
	{"double UTF-8 in a page", "", []string{"Grüße", "GrÃ¼ÃŸe", "Öl", "Ã–l", "für", "fÃ¼r"}},
	{"no body", "", []string{"<a href=a>Found</a>", "", "<a href=b>Found</a>", "", "<a href=c>Found</a>", ""}},
	{"other sentences", "", []string{"The order was sent.", "Your order is on its way", "Not found.", "No such order", "Try later.", "Please wait"}},
	{"an unrelated number", "", []string{"You owe 1.50 EUR.", "You owe 2.75 EUR.", "You owe 20.00 EUR.", "You owe 11 EUR.", "You owe 7.10 EUR.", "You owe 9.3 EUR."}},
}

// guessed judges a case's pairs and gives the first cause that is guessed.
func guessed(t *testing.T, kind whittle.CompareKind, c causeCase) string {
	t.Helper()
	j := judgeOf(t, whittle.Comparison{Kind: kind})
	body := func(v string) []byte {
		switch {
		case kind == whittle.Exact:
			return []byte(v)
		case v == "":
			return []byte(`{"id":1}`)
		}
		return []byte(`{"id":1,"v":` + v + `}`)
	}
	for i := 0; i+1 < len(c.pairs); i += 2 {
		j.Observe(&whittle.Exchange{
			At: comparetest.Start.Add(time.Duration(i) * time.Second), Request: whittle.Request{Method: "GET", Target: fmt.Sprintf("/a/%d", i)},
			Monolith: whittle.Response{Status: 200, Body: body(c.pairs[i])}, Candidate: whittle.Response{Status: 200, Body: body(c.pairs[i+1])},
		})
	}
	v := j.Verdict()
	all := ""
	for _, f := range v.Findings {
		if at := strings.Index(f.Cause, "a guess: "); at >= 0 {
			all = joined(all, f.Cause[at+len("a guess: "):])
		}
	}
	return all
}

// TestCausesOfRealBugs: the cause that is guessed is the right one, or none. None
// is guessed wrongly.
func TestCausesOfRealBugs(t *testing.T) {
	right, none, wrong := 0, 0, 0
	for kind, list := range map[whittle.CompareKind][]causeCase{whittle.JSON: realBugs, whittle.Exact: realTexts} {
		for _, c := range list {
			got := guessed(t, kind, c)
			switch {
			case c.cause == "" && got == "", c.cause != "" && strings.Contains(got, c.cause):
				right++
			case got == "":
				none++
				t.Errorf("%s: no cause, want %q", c.name, c.cause)
			default:
				wrong++
				t.Errorf("%s: %q, want %q", c.name, got, c.cause)
			}
		}
	}
	t.Logf("of %d: %d right, %d without a cause, %d wrong", right+none+wrong, right, none, wrong)
}
