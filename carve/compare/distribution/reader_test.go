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
		body  string
		want  float64
		whole bool
		none  bool
	}{
		{body: "Counted to 500047951 \n", want: 500047951, whole: true},
		{body: "Counted to -1325061486 \n", want: -1325061486, whole: true},
		{body: "pi is 3.25, e is 2.7", want: 3.25},
		{body: "-0.5", want: -0.5},
		{body: "+7", want: 7, whole: true},
		{body: "1e3 bytes", want: 1000, whole: true},
		{body: "2.5E-1", want: 0.25},
		{body: "7e", want: 7, whole: true},
		{body: "7.", want: 7, whole: true},
		{body: "2026-01-02", want: 2026, whole: true},
		{body: "a-5", want: 5, whole: true},
		{body: "9007199254740993", want: 9007199254740993, whole: true},
		{body: "9223372036854775807", want: math.MaxInt64, whole: true},
		{body: "18446744073709551615", want: 18446744073709551615},
		{body: `{"sum":"42"}`, want: 42, whole: true},
		{body: "", none: true},
		{body: "{}", none: true},
		{body: "-", none: true},
		{body: "1e999", none: true},
		{body: strings.Repeat("9", maxDigits+1), none: true},
	} {
		n, ok := firstNumber([]byte(c.body))
		if ok == c.none || ok && (n.f != c.want || n.whole != c.whole) {
			t.Errorf("%q: read %+v, %v; want %v, whole %v, none %v", c.body, n, ok, c.want, c.whole, c.none)
		}
	}
	a, _ := firstNumber([]byte("9007199254740992"))
	b, _ := firstNumber([]byte("9007199254740993"))
	if a == b || a.i+1 != b.i {
		t.Error("two integers above 2^53 that differ by 1 are read as the same")
	}
}

func FuzzFirstNumber(f *testing.F) {
	for _, s := range []string{"Counted to 5 \n", "-1.5e-7", "1e999", "--5", "\xff9"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		n, ok := firstNumber(b)
		if ok && (math.IsNaN(n.f) || math.IsInf(n.f, 0)) {
			t.Errorf("%q gives %v", b, n.f)
		}
		if ok && n.whole && float64(n.i) != n.f {
			t.Errorf("%q: %d and %v", b, n.i, n.f)
		}
	})
}

func TestExpressions(t *testing.T) {
	request := whittle.Request{
		Method: "POST", Target: "/Count?size=7&x=1", Body: []byte(`{"times": 250000, "deep": {"n": [4, 5]}}`),
		Header: whittle.Header{"X-Size": {"12.5"}},
	}
	for _, c := range []struct {
		per  string
		want float64
		none bool
	}{
		{per: "", want: 1},
		{per: "request.times", want: 250000},
		{per: "request.deep.n[1]", want: 5},
		{per: "request.times / 1000.0", want: 250},
		{per: `double(header["X-Size"])`, want: 12.5},
		{per: `int(query["size"])`, want: 7},
		{per: `size(path)`, want: 6},
		{per: "request.times > 1000 ? 2.0 : 1.0", want: 2},
		{per: "request.absent", none: true},
		{per: `double(header["Absent"])`, none: true},
		{per: "request.deep", none: true},
		{per: "0.0 / 0.0", none: true},
	} {
		r, err := newReader(whittle.Comparison{Per: c.per})
		if err != nil {
			t.Errorf("%q: %v", c.per, err)
			continue
		}
		got, ok := r.divisor(&request)
		if ok == c.none || ok && got != c.want {
			t.Errorf("%q gives %v, %v; want %v, none %v", c.per, got, ok, c.want, c.none)
		}
	}
	for _, c := range []struct {
		value, body string
		want        float64
		none        bool
	}{
		{value: numberInBody, body: "Counted to 12 \n", want: 12},
		{value: "json.sum", body: `{"sum": 12}`, want: 12},
		{value: "double(json.sum)", body: `{"sum": "12"}`, want: 12},
		{value: "size(body)", body: "four", want: 4},
		{value: "json.sum", body: "no json", none: true},
		{value: "json.sum", body: `{"sum": "12"}`, none: true},
	} {
		r, err := newReader(whittle.Comparison{Value: c.value})
		if err != nil {
			t.Errorf("%q: %v", c.value, err)
			continue
		}
		got, ok := r.read(&whittle.Response{Body: []byte(c.body)})
		if ok == c.none || ok && got.f != c.want {
			t.Errorf("%q of %q gives %v, %v; want %v, none %v", c.value, c.body, got.f, ok, c.want, c.none)
		}
	}
}

func TestWrongExpressionsAreRefusedWithTheirField(t *testing.T) {
	for _, c := range []struct{ value, per, field string }{
		{per: "request.", field: "compare.per"},
		{per: "times", field: "compare.per"},
		{per: `"text"`, field: "compare.per"},
		{per: "path", field: "compare.per"},
		{per: strings.Repeat("1+", maxExpression) + "1", field: "compare.per"},
		{value: "the number", field: "compare.value"},
		{value: "body == json", field: "compare.value"},
		{value: "request.times", field: "compare.value"},
	} {
		_, err := New(whittle.Comparison{Kind: whittle.Statistical, Value: c.value, Per: c.per}, testAlpha)
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

// An expression that would walk a large body for ever is cut off by its cost,
// and the response counts as unreadable.
func TestAnExpressionsCostIsBounded(t *testing.T) {
	r, err := newReader(whittle.Comparison{
		Value: "json.all(a, json.all(b, json.all(c, a + b + c >= 0.0))) ? 1 : 2",
	})
	if err != nil {
		t.Fatal(err)
	}
	body := []byte("[" + strings.Repeat("1,", 2_000) + "1]")
	if n, ok := r.read(&whittle.Response{Body: body}); ok {
		t.Errorf("8,000,000,000 steps gave %v", n)
	}
}
