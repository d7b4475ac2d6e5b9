package distribution

import (
	"errors"
	"math"
	"strings"
	"testing"

	"whittle"
)

func TestFirstNumber(t *testing.T) {
	for _, c := range []struct {
		body string
		want float64
		none bool
	}{
		{body: "Counted to 500047951 \n", want: 500047951},
		{body: "Counted to -1325061486 \n", want: -1325061486},
		{body: "pi is 3.25, e is 2.7", want: 3.25},
		{body: "-0.5", want: -0.5},
		{body: "+7", want: 7},
		{body: "1e3 bytes", want: 1000},
		{body: "2.5E-1", want: 0.25},
		{body: "7e", want: 7},
		{body: "7.", want: 7},
		{body: "2026-01-02", want: 2026},
		{body: "a-5", want: 5},
		{body: "9007199254740993", want: 9007199254740993},
		{body: "9223372036854775807", want: math.MaxInt64},
		{body: "18446744073709551615", want: 18446744073709551615},
		{body: `{"sum":"42"}`, want: 42},
		{body: "", none: true},
		{body: "{}", none: true},
		{body: "-", none: true},
		{body: "1e999", none: true},
		{body: strings.Repeat("9", 400), none: true},
	} {
		n, ok := firstNumber([]byte(c.body))
		if ok == c.none || ok && n != c.want {
			t.Errorf("%q: read %v, %v; want %v, none %v", c.body, n, ok, c.want, c.none)
		}
	}
}

func FuzzFirstNumber(f *testing.F) {
	for _, s := range []string{"Counted to 5 \n", "-1.5e-7", "1e999", "--5", "\xff9"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		n, ok := firstNumber(b)
		if ok && (math.IsNaN(n) || math.IsInf(n, 0)) {
			t.Errorf("%q gives %v", b, n)
		}
	})
}

func TestExpressions(t *testing.T) {
	request := whittle.Request{
		Method: "POST", Target: "/Count?size=7&x=1", Body: []byte(`{"times": 250000, "deep": {"n": [4, 5]}}`),
		Header: whittle.Header{"X-Size": {"12.5"}},
	}
	for _, c := range []struct {
		per, value, body string
		want             float64
		none             bool
	}{
		{per: "", want: 1},
		{per: "request.times", want: 250000},
		{per: "request.deep.n[1]", want: 5},
		{per: "request.times / 1000.0", want: 250},
		{per: `float(header["X-Size"])`, want: 12.5},
		{per: `int(query["size"])`, want: 7},
		{per: `len(path)`, want: 6},
		{per: "request.times > 1000 ? 2.0 : 1.0", want: 2},
		{per: "request.absent", none: true},
		{per: `float(header["Absent"])`, none: true},
		{per: "request.deep", none: true},
		{per: "0.0 / 0.0", none: true},
		{value: numberInBody, body: "Counted to 12 \n", want: 12},
		{value: "json.sum", body: `{"sum": 12}`, want: 12},
		{value: "float(json.sum)", body: `{"sum": "12"}`, want: 12},
		{value: "len(body)", body: "four", want: 4},
		{value: "json.sum", body: "no json", none: true},
		{value: "json.sum", body: `{"sum": "12"}`, none: true},
	} {
		r, err := newReader(whittle.Comparison{Per: c.per, Value: c.value})
		if err != nil {
			t.Errorf("%q, %q: %v", c.per, c.value, err)
			continue
		}
		got, ok := r.divisor(&request)
		if c.value != "" {
			got, ok = r.read(&whittle.Response{Body: []byte(c.body)})
		}
		if ok == c.none || ok && got != c.want {
			t.Errorf("%q, %q of %q gives %v, %v; want %v, none %v", c.per, c.value, c.body, got, ok, c.want, c.none)
		}
	}
}

func TestWrongExpressionsAreRefusedWithTheirField(t *testing.T) {
	for _, c := range []struct{ value, per, field string }{
		{per: "request.", field: "compare.per"},
		{per: "times", field: "compare.per"},
		{per: `"text"`, field: "compare.per"},
		{per: "path", field: "compare.per"},
		{per: strings.Repeat("1+", 1<<15) + "1", field: "compare.per"},
		{value: "the number", field: "compare.value"},
		{value: "json.all(a, a > 0.0) ? 1 : 2", field: "compare.value"}, // a loop, whose cost would have no bound
		{value: "sum(json)", field: "compare.value"},
		{value: "all(json, # > 0) ? 1 : 2", field: "compare.value"},
		{value: "let x = json; x", field: "compare.value"},
		{value: "len(1..1000000000)", field: "compare.value"},
		{value: `body matches "(a+)+" ? 1 : 2`, field: "compare.value"},
		{value: "json.f()", field: "compare.value"},
		{value: "body == json", field: "compare.value"},
		{value: "request.times", field: "compare.value"},
	} {
		_, err := New(whittle.Comparison{Kind: whittle.Statistical, Value: c.value, Per: c.per}, testAlpha, nil)
		var e *whittle.Error
		if !errors.As(err, &e) {
			t.Errorf("%.20q %.20q: error %v, want a coded one", c.value, c.per, err)
			continue
		}
		if e.Code != whittle.Invalid || e.Field != c.field || e.Hint == "" || strings.Contains(e.Error(), "\n") {
			t.Errorf("%.20q %.20q: code %v, field %q, hint %q, %q", c.value, c.per, e.Code, e.Field, e.Hint, e.Error())
		}
	}
}
