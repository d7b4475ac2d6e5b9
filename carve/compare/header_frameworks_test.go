package compare

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"testing"

	"whittle"
)

// frameworkStyles are headers as frameworks and what stands in front of them set
// them: the endpoint's own from the request's number i, the rest by r.
func frameworkStyles() map[string]func(r *rand.Rand, i int) whittle.Header {
	hex := func(r *rand.Rand) string { return fmt.Sprintf("%016x", r.Uint64()) }
	uuid := func(r *rand.Rand) string {
		return fmt.Sprintf("%08x-%04x-4%03x-a%03x-%012x", r.Uint32(), r.IntN(1<<16), r.IntN(1<<12), r.IntN(1<<12), r.Uint64N(1<<48))
	}
	b64 := func(r *rand.Rand) string {
		return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%d%d", r.Uint64(), r.Uint64()))[:22]
	}
	h := func(pairs ...string) whittle.Header {
		out := whittle.Header{"Date": {"Sun, 22 Nov 2026 18:00:00 GMT"}}
		for i := 0; i+1 < len(pairs); i += 2 {
			out[pairs[i]] = append(out[pairs[i]], pairs[i+1])
		}
		return out
	}
	own := func(i int) string { return fmt.Sprint(i % 37) }
	return map[string]func(*rand.Rand, int) whittle.Header{
		"express with helmet": func(r *rand.Rand, i int) whittle.Header {
			return h("X-Powered-By", "Express", "Etag", `W/"`+own(i)+`"`, "Content-Security-Policy", "script-src 'nonce-"+b64(r)+"'", "X-Response-Time", fmt.Sprintf("%.3fms", r.Float64()*9), "X-Total-Count", own(i))
		},
		"koa": func(r *rand.Rand, i int) whittle.Header {
			return h("X-Response-Time", fmt.Sprint(r.IntN(90), "ms"), "Vary", "Origin", "Set-Cookie", "koa.sess="+b64(r)+"; path=/; httponly")
		},
		"fastify": func(r *rand.Rand, i int) whittle.Header {
			return h("X-Ratelimit-Remaining", fmt.Sprint(r.IntN(60)), "X-Request-Id", "req-"+hex(r), "X-Page", own(i))
		},
		"rails": func(r *rand.Rand, i int) whittle.Header {
			return h("X-Request-Id", uuid(r), "X-Runtime", fmt.Sprintf("%.6f", r.Float64()), "Cache-Control", "max-age=0, private, must-revalidate", "Etag", `W/"`+hex(r)+`"`, "Set-Cookie", "_app_session="+b64(r)+"; path=/; HttpOnly; SameSite=Lax", "Link", "</items?page="+own(i)+">; rel=next")
		},
		"django": func(r *rand.Rand, i int) whittle.Header {
			return h("Server", "gunicorn", "Vary", "Accept, Cookie", "Allow", "GET, HEAD, OPTIONS", "Set-Cookie", "csrftoken="+b64(r)+"; expires=Mon, 22 Nov 2027 18:00:00 GMT; Max-Age=31449600; Path=/; SameSite=Lax")
		},
		"spring": func(r *rand.Rand, i int) whittle.Header {
			return h("Cache-Control", "no-cache, no-store, max-age=0, must-revalidate", "Pragma", "no-cache", "Expires", "0", "Set-Cookie", "JSESSIONID="+hex(r)+"; Path=/; HttpOnly", "X-Application-Context", "app:8080")
		},
		"laravel": func(r *rand.Rand, i int) whittle.Header {
			return h("Cache-Control", "no-cache, private", "X-Ratelimit-Limit", "60", "X-Ratelimit-Remaining", fmt.Sprint(r.IntN(60)), "Set-Cookie", "XSRF-TOKEN="+b64(r)+"; path=/", "Set-Cookie", "laravel_session="+b64(r)+"; path=/; httponly")
		},
		"asp.net": func(r *rand.Rand, i int) whittle.Header {
			return h("Server", "Kestrel", "Request-Context", "appId="+uuid(r), "Api-Supported-Versions", "1.0, 2.0", "Location", "/orders/"+own(i))
		},
		"go behind envoy": func(r *rand.Rand, i int) whittle.Header {
			return h("Server", "envoy", "X-Envoy-Upstream-Service-Time", fmt.Sprint(r.IntN(50)), "X-Total-Count", own(i))
		},
		"nginx behind cloudflare": func(r *rand.Rand, i int) whittle.Header {
			return h("Cf-Ray", hex(r)+"-FRA", "Cf-Cache-Status", "DYNAMIC", "Nel", `{"max_age":1}`, "Report-To", `{"u":"`+b64(r)+`"}`, "Alt-Svc", `h3=":443"`, "Age", fmt.Sprint(r.IntN(9)))
		},
		"an own id in each response": func(r *rand.Rand, i int) whittle.Header {
			return h("X-Batch", uuid(r), "X-Generated-At", fmt.Sprintf("2026-11-22T18:%02d:%02dZ", i/60%60, r.IntN(60)), "X-Total-Count", own(i))
		},
		"a redirect with a state": func(r *rand.Rand, i int) whittle.Header {
			return h("Location", "https://login.example/?state="+b64(r)+"&n="+own(i), "Cache-Control", "no-store")
		},
	}
}

// Hypothesis: both sides, and the monolith's second response, set their headers by one
// distribution, independently. Promised error rate: at most 1 of 100 whole runs is ever
// DIFFERENT, looked at after each tenth exchange; of 600 runs at most 6 are allowed
// here, and each style must come to EQUIVALENT without any config. Source: Ville's
// inequality (headers).
func TestFrameworkStylesAreEquivalent(t *testing.T) {
	const runs, exchanges = 50, 400
	alarms, all := 0, 0
	for name, style := range frameworkStyles() {
		equal := 0
		for run := range runs {
			r := rand.New(rand.NewPCG(uint64(run), 77))
			j := equivalenceJudge(t)
			for i := range exchanges {
				x := headed(style(r, i), style(r, i))
				if i%20 == 19 {
					x.Repeat = &whittle.Response{Status: 200, Header: style(r, i), Body: x.Monolith.Body}
				}
				j.Observe(x)
				if i%10 == 9 && j.Verdict().State == whittle.Different {
					alarms++
					t.Logf("%s: %s", name, j.Verdict().Summary)
					break
				}
			}
			// The share of responses that may differ takes longer than headers do.
			for i := exchanges; i < 3000 && run == 0; i++ {
				x := headed(style(r, i), style(r, i))
				if i%20 == 19 {
					x.Repeat = &whittle.Response{Status: 200, Header: style(r, i), Body: x.Monolith.Body}
				}
				j.Observe(x)
			}
			if v := j.Verdict(); run == 0 && v.State == whittle.Equivalent {
				equal++
			} else if run == 0 {
				t.Errorf("%s: %s %+v", name, v.Summary, v.Bounds)
			}
			all++
		}
	}
	t.Logf("%d alarms in %d runs", alarms, all)
	if alarms > all/100 {
		t.Errorf("%d alarms in %d runs", alarms, all)
	}
}

// equivalenceJudge compares as a config does by default.
func equivalenceJudge(t *testing.T) *Judge {
	t.Helper()
	j, err := NewJudge(whittle.Comparison{Kind: whittle.JSON, AllHeaders: true, LearnNoise: true, Confidence: 0.99, MinCompared: 300})
	if err != nil {
		t.Fatal(err)
	}
	return j
}
