package compare

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"testing"

	"whittle"
	"whittle/internal/simtest"
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
// DIFFERENT, looked at after each tenth exchange, over all styles together, and in each at
// most 10. A correct implementation may show 0.05 % (simtest.Rate). Each style must come
// to EQUIVALENT without any config. Source: Ville's inequality (headers).
func TestFrameworkStylesAreEquivalent(t *testing.T) {
	t.Parallel()
	type styled = func(r *rand.Rand, i int) whittle.Header
	observe := func(j *Judge, r *rand.Rand, style styled, i int) {
		j.Observe(withHeaders(i, 20, func(int) whittle.Header { return style(r, i) }))
	}
	simtest.InTurn(t, 0.01, 0.0005, 0.1, frameworkStyles(), func(style styled, run int) bool {
		r, j := rand.New(rand.NewPCG(uint64(run), 77)), equivalenceJudge(t)
		for i := range 400 {
			if observe(j, r, style, i); i%10 != 9 {
				continue
			}
			if v := j.Verdict(); v.State == whittle.Different {
				t.Log(v.Summary)
				return true
			}
		}
		return false
	})
	for name, style := range frameworkStyles() {
		r, j := rand.New(rand.NewPCG(0, 77)), equivalenceJudge(t)
		// The share of responses that may differ takes longer than headers do.
		for i := range 3000 {
			observe(j, r, style, i)
		}
		if v := j.Verdict(); v.State != whittle.Equivalent {
			t.Errorf("%s: %s %+v", name, v.Summary, v.Bounds)
		}
	}
}

// equivalenceJudge compares as a config does by default.
func equivalenceJudge(t *testing.T) *Judge {
	t.Helper()
	return judgeOf(t, whittle.Comparison{Kind: whittle.JSON, AllHeaders: true, LearnNoise: true, Confidence: 0.99, MinCompared: 300})
}
