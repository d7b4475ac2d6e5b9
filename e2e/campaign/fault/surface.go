package fault

import (
	"bytes"
	"encoding/csv"
	"strings"
	"time"

	"whittle"
	"whittle/e2e/campaign/family"
)

// headers are faults in headers and in a body's bytes.
func headers() []*Mutation {
	return []*Mutation{
		{Name: "header-dropped", Does: "a header of the endpoint's is gone", Fits: has(family.Header), Do: value(family.Header, made(removed{}))},
		{Name: "header-rare", Does: "it is gone in 1 of 50", Fits: has(family.Header), When: in(50), Do: value(family.Header, made(removed{}))},
		{Name: "header-changed", Does: "it has another value", Fits: has(family.Header), Do: value(family.Header, words(func(s string) string { return s + "1" }))},
		{Name: "cookie-script", Does: "a cookie without HttpOnly", Fits: has(family.Cookie), Do: cookie("; HttpOnly", "")},
		{Name: "cookie-plain", Does: "a cookie without Secure", Fits: has(family.Cookie), Do: cookie("; Secure", "")},
		{Name: "cookie-site", Does: "SameSite=None for Lax", Fits: has(family.Cookie), Do: cookie("SameSite=Lax", "SameSite=None")},
		{Name: "cookie-age", Does: "a cookie that lives for an hour, not a day", Fits: has(family.Cookie), Do: cookie("Max-Age=86400", "Max-Age=3600")},
		{Name: "cookie-lost", Does: "no cookie in 1 of 50", Fits: has(family.Cookie), When: in(50), Do: value(family.Cookie, made(removed{}))},
		{Name: "content-type", Does: "another media type", Fits: every, Do: always(func(a *whittle.Response) { a.Header["Content-Type"] = []string{"application/octet-stream"} })},
		{Name: "byte-order-mark", Does: "a byte order mark before the body", Fits: notRandom(every), Do: always(func(a *whittle.Response) { a.Body = append([]byte("\ufeff"), a.Body...) })},
		{Name: "cut-off", Does: "the body's end is missing in 1 of 100", Fits: notRandom(every), When: in(100), Do: always(func(a *whittle.Response) { a.Body = a.Body[:len(a.Body)*2/3] })},
		{Name: "empty-body", Does: "no body in 1 of 200", Fits: notRandom(every), When: in(200), Do: always(func(a *whittle.Response) { a.Body = nil })},
	}
}

func cookie(from, to string) func(*Candidate, *Call, *whittle.Response) bool {
	return value(family.Cookie, words(func(s string) string { return strings.Replace(s, from, to, 1) }))
}

// always is a fault that any response can have.
func always(do func(a *whittle.Response)) func(*Candidate, *Call, *whittle.Response) bool {
	return func(_ *Candidate, _ *Call, a *whittle.Response) bool {
		do(a)
		return true
	}
}

// statuses are faults in the status.
func statuses() []*Mutation {
	return []*Mutation{
		{Name: "status-rare", Does: "404 in 1 of 200", Fits: every, When: in(200), Do: always(func(a *whittle.Response) { a.Status, a.Body = 404, []byte(`{"error":"not_found"}`) })},
		{Name: "no-refusals", Does: "200 for what should be refused", Fits: named("login", "orders"), Do: func(_ *Candidate, _ *Call, a *whittle.Response) bool {
			if a.Status < 400 {
				return false
			}
			a.Status = 200
			return true
		}},
		{Name: "status-near", Does: "200 for 201, 303 for 302, 302 for 301", Fits: named("login", "orders"), Do: func(_ *Candidate, _ *Call, a *whittle.Response) bool {
			fresh, ok := map[int]int{201: 200, 302: 303, 301: 302}[a.Status]
			if ok {
				a.Status = fresh
			}
			return ok
		}},
	}
}

// status responds with an error.
func status(code int) func(*Candidate, *Call, *whittle.Response) bool {
	return always(func(a *whittle.Response) {
		a.Status, a.Body, a.Header = code, []byte("internal error\n"), whittle.Header{"Content-Type": {"text/plain; charset=utf-8"}}
	})
}

// failure gives no response.
func failure(how whittle.Failure, after time.Duration) func(*Candidate, *Call, *whittle.Response) bool {
	return always(func(a *whittle.Response) {
		*a = whittle.Response{Failure: how, Detail: string(how), Latency: max(after, a.Latency)}
	})
}

func failures() []*Mutation {
	return []*Mutation{
		{Name: "broken", Does: "500 always", Fits: every, Do: status(500)},
		{Name: "errors-half", Does: "500 in every second", Fits: every, When: in(2), Do: status(500)},
		{Name: "errors-rare", Does: "503 in 1 of 60", Fits: every, When: in(60), Do: status(503)},
		{Name: "error-bursts", Does: "500 for ten seconds in every two minutes", Fits: every, When: func(_ *Candidate, c *Call) bool { return c.Up%(2*time.Minute) > 110*time.Second }, Do: status(500)},
		{Name: "resets", Does: "a broken connection in 1 of 50", Fits: every, When: in(50), Do: failure(whittle.FailedReset, 0)},
		{Name: "timeouts", Does: "no response in 1 of 100", Fits: every, When: in(100), Do: failure(whittle.FailedTimeout, 5*time.Second)},
		{Name: "crash-later", Does: "500 from the eighth minute on", Fits: every, Late: true, When: after(8 * time.Minute), Do: status(500)},
	}
}

func slowness() []*Mutation {
	slower := func(by float64) func(*Candidate, *Call, *whittle.Response) bool {
		return always(func(a *whittle.Response) { a.Latency = time.Duration(float64(a.Latency) * by) })
	}
	return []*Mutation{
		{Name: "slow", Does: "three times as slow", Fits: every, Do: slower(3)},
		{Name: "slow-tail", Does: "twelve times as slow in 1 of 25", Fits: every, When: in(25), Do: slower(12)},
		{Name: "leak", Does: "as slow again with every minute", Fits: every, Do: func(_ *Candidate, call *Call, a *whittle.Response) bool {
			a.Latency = time.Duration(float64(a.Latency) * (1 + call.Up.Minutes()))
			return true
		}},
		{Name: "slow-later", Does: "ten times as slow from the eighth minute on", Fits: every, Late: true, When: after(8 * time.Minute), Do: slower(10)},
	}
}

// editRows changes the rows of a CSV behind its first.
func editRows(a *whittle.Response, change func([]any) []any) bool {
	rows, err := csv.NewReader(bytes.NewReader(a.Body)).ReadAll()
	if err != nil || len(rows) == 0 {
		return false
	}
	var list []any
	for _, r := range rows[1:] {
		list = append(list, r)
	}
	out := rows[:1:1]
	for _, r := range change(list) {
		out = append(out, r.([]string))
	}
	return writeRows(a, out)
}
