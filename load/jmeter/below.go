package jmeter

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"whittle"
	"whittle/load/expr"
	"whittle/load/plan"
)

// belowSampler reads what is below a sampler: the steps before its timers, and those
// after its response.
func (j *reader) belowSampler(e *element, env elementScope) (ahead, behind []plan.Step) {
	for _, p := range env.ahead {
		if a := j.preProcessor(p, e); a != nil {
			ahead = append(ahead, plan.Step{Action: a})
		}
	}
	for _, c := range e.below {
		if c.name == "ResultAction" {
			behind = append(behind, plan.Step{Action: j.resultAction(c)})
			continue
		}
		if !j.readByScope(c) {
			panic(j.refuse(c))
		}
	}
	return ahead, behind
}

// preProcessor reads what is done before a sampler. Nil: it is done elsewhere.
func (j *reader) preProcessor(e, sampler *element) plan.Action {
	switch e.name {
	case "UserParameters":
		// One for all samplers in its scope, so that its counters count on from one to the next.
		if j.shared[e] == nil {
			j.shared[e] = j.userParameters(e)
		}
		return j.shared[e]
	case "URLRewritingModifier":
		return nil // the sampler reads it
	}
	if isScript(e.name) {
		return j.scriptAction(e, sampler)
	}
	panic(j.refuse(e))
}

// resultAction reads what a user does where a sampler has failed.
func (j *reader) resultAction(e *element) plan.Action {
	j.refuseOthers(e, "OnError.action")
	kind := j.fixed(e.tag, "OnError.action")
	end := map[string]func(plan.User) bool{
		"1": stopUser, "2": stopTest, "3": stopNow, "4": restart, "5": nextOfLoop, "6": breakLoop,
	}[kind]
	return does(func(u plan.User) bool { return end == nil || !u.Failed() || end(u) })
}

// The ways in which a user's steps end; all report false.
func stopUser(u plan.User) bool   { u.Stop(); return false }
func stopTest(u plan.User) bool   { u.StopAll(false); return stopUser(u) }
func stopNow(u plan.User) bool    { u.StopAll(true); return stopUser(u) }
func restart(plan.User) bool      { return false }
func nextOfLoop(u plan.User) bool { return leave(u, nextRound) }
func breakLoop(u plan.User) bool  { return leave(u, breaks) }

// userParameters gives each user values of its own, of the first list to the first user.
func (j *reader) userParameters(e *element) plan.Action {
	j.refuseOthers(e, "UserParameters.names", "UserParameters.thread_values", "UserParameters.per_iteration")
	names, lists := e.prop("UserParameters.names"), e.prop("UserParameters.thread_values")
	if names == nil || lists == nil || len(lists.children) == 0 {
		return does(func(plan.User) bool { return true })
	}
	var slots []int
	for _, n := range names.children {
		slots = append(slots, j.Define(strings.TrimSpace(n.text)))
	}
	var values [][]expr.Template
	for _, list := range lists.children {
		var own []expr.Template
		for _, v := range list.children {
			own = append(own, j.compile(v.at, v.text, expr.AsText))
		}
		values = append(values, own)
	}
	once := e.is("UserParameters.per_iteration")
	return does(func(u plan.User) bool {
		if once {
			if at := userState[groupRound](u, e); at.loop == u.Loop()+1 {
				return true
			} else {
				at.loop = u.Loop() + 1
			}
		}
		s := u.Scope()
		own := values[u.Number()%len(values)]
		for i, slot := range slots[:min(len(slots), len(own))] {
			s.Values[slot] = expr.TextValue(own[i].Text(s))
		}
		return true
	})
}

// login reads the names and passwords of the managers around a sampler, of which the
// innermost counts.
func (j *reader) login(managers []*element) *plan.Login {
	if len(managers) == 0 {
		return nil
	}
	e := managers[len(managers)-1]
	j.refuseOthers(e, "AuthManager.auth_list", "AuthManager.controlledByThreadGroup", "AuthManager.clearEachIteration")
	list := e.prop("AuthManager.auth_list")
	if list == nil {
		return nil
	}
	out := &plan.Login{}
	for _, a := range list.children {
		mechanism := j.fixed(a, "Authorization.mechanism")
		switch mechanism {
		case "", "BASIC", "BASIC_DIGEST", "DIGEST":
		case "KERBEROS":
			j.note(fmt.Sprintf("line %d: %s: credentials of KERBEROS are sent to no server, also where it asks for them", a.at.Line, e.title()))
			continue
		default:
			panic(a.where("Authorization.mechanism").Errorf(whittle.Unsupported, "the mechanism %s is not supported: BASIC and DIGEST are", mechanism))
		}
		text := func(name string) expr.Template {
			return j.text(a, "Authorization."+name)
		}
		out.Entries = append(out.Entries, plan.LoginEntry{
			URL: text("url"), User: text("username"), Password: text("password"), OnChallenge: mechanism == "DIGEST",
		})
	}
	return out
}

// proxied is the proxy of a plan's samplers: that of the first. All must have the same.
type proxied struct {
	known bool
	via   string // its URL; empty: none
}

// proxy reads the proxy that a sampler's requests go through.
func (j *reader) proxy(s *sample) {
	text := func(name string) string { return j.fixedOf(s.find(name), name) }
	via := url.URL{Scheme: cmp.Or(text("HTTPSampler.proxyScheme"), "http")}
	host, user := text("HTTPSampler.proxyHost"), text("HTTPSampler.proxyUser")
	port, err := strconv.ParseUint(text("HTTPSampler.proxyPort"), 10, 16)
	all := proxied{known: true}
	if host != "" && err == nil && port > 0 { // else JMeter goes straight to the server
		via.Host = net.JoinHostPort(host, strconv.FormatUint(port, 10))
		if user != "" {
			via.User = url.UserPassword(user, text("HTTPSampler.proxyPass"))
		}
		if via.Scheme != "http" && via.Scheme != "https" {
			panic(s.find("HTTPSampler.proxyScheme").at.Errorf(whittle.Unsupported, "a proxy of the scheme %s is not supported: http and https are", via.Scheme))
		}
		all.via = via.String()
		j.Plan.HTTP.Proxy = &via
	}
	if j.proxied.known && j.proxied != all {
		panic(s.find("HTTPSampler.proxyHost").at.Errorf(whittle.Unsupported, "%s goes through another proxy than the samplers before it, which is not supported: all of a plan go through one, or none does", s.title()))
	}
	j.proxied = all
}

// resources reads whether a sampler fetches what its page names, and how.
func (j *reader) resources(s *sample, q *plan.Request, cache *element) {
	if !s.isFound("HTTPSampler.image_parser") {
		return
	}
	if j.asksWay {
		panic(s.find("HTTPSampler.image_parser").at.Errorf(whittle.Unsupported, "%s: embedded resources in a plan whose scripts call getSubResults, which gives them in JMeter, are not supported", s.title()))
	}
	filter := func(name string) func(*expr.Scope) *expr.Pattern {
		p := s.find(name)
		none := func(*expr.Scope) *expr.Pattern { return nil }
		if strings.TrimSpace(p.text) == "" {
			return none
		}
		if strings.IndexByte("*+?", p.text[0]) >= 0 {
			j.note(fmt.Sprintf("line %d: %s: %.60q is no pattern, and its resources are fetched as without it, as by JMeter", p.at.Line, s.title(), p.text))
			return none
		}
		return j.pattern(p.at, `^(?:`+p.text+`)$`)
	}
	only, without := filter("HTTPSampler.embedded_url_re"), filter("HTTPSampler.embedded_url_exclude_re")
	slot := j.Define(ownName + "embedded resource " + q.Name)
	type fetched struct{ of *plan.Request } // where it is kept what a user is about to fetch
	keeps(q, true, func(a *expr.Response) {
		urls := userState[[]string](a.Scope.User, fetched{q})
		*urls = (*urls)[:0]
		if a.Status == 0 || a.Status >= http.StatusBadRequest {
			return // of a page that failed JMeter fetches nothing
		}
		want, not := only(a.Scope), without(a.Scope)
		for _, at := range a.Resources(a.URL) {
			if (want == nil || want.MatchString(at)) && (not == nil || !not.MatchString(at)) {
				*urls = append(*urls, at)
			}
		}
	})
	r := &plan.Request{
		Name: q.Name, Index: q.Index, Method: "GET", Headers: q.Headers, NoCookies: q.NoCookies, NoEmptyCookies: q.NoEmptyCookies, Timeout: q.Timeout, Login: q.Login,
		FollowRedirects: true, Redirect: redirected, Part: true,
	}
	r.Address = expr.Template(nil).Expression(expr.Expression{Eval: func(s *expr.Scope) expr.Value { return s.Values[slot] }}, expr.AsText)
	if q.HasBody && !strings.Contains(q.ContentType, "multipart/form-data") && !s.sendsForm(j) {
		r.Body, r.HasBody, r.ContentType = q.Body, true, q.ContentType // as by JMeter, which fetches them by the same sampler
	}
	r.Expect = []plan.Expectation{{Status: true, Check: func(a *expr.Response) bool { return a.Status < 400 || a.Status >= 500 }}}
	if cache != nil {
		j.useCache(r, cache)
	}
	steps := []plan.Step{{Request: r}}
	q.Parts = runs(steps, func(ctx context.Context, u plan.User) bool { // one after the other
		kept := userState[[]string](u, fetched{q})
		urls := *kept
		*kept = nil
		for _, at := range urls {
			u.Scope().Values[slot] = expr.TextValue(targetText(at))
			if !u.RunSteps(ctx, steps) {
				return false
			}
		}
		return true
	})
}

// rewriting is the session's number that the page before had, as a further argument after a
// separator.
func (j *reader) rewriting(env *elementScope, sep string) (out expr.Template) {
	for _, e := range env.ahead {
		if e.name != "URLRewritingModifier" {
			continue
		}
		j.refuseOthers(e, "argument_name", "cache_value")
		name := j.fixed(e.tag, "argument_name")
		rx := regexp.MustCompile(`[?&;]` + regexp.QuoteMeta(name) + `=([^"'>&\s;]*)`)
		input := regexp.MustCompile(`(?i)name=["']` + regexp.QuoteMeta(name) + `["'][^>]*value=["']([^"']*)["']`)
		j.rewritten = append(j.rewritten, rewritten{e, func(text string) string {
			for _, by := range []*regexp.Regexp{rx, input} {
				if at := by.FindStringSubmatch(text); at != nil {
					return at[1]
				}
			}
			return ""
		}})
		begin := sep + url.QueryEscape(name) + "="
		sep = "&"
		out = out.Expression(expr.Expression{Eval: func(s *expr.Scope) expr.Value {
			at := userState[session](s.User, e)
			if !at.asked {
				return expr.TextValue("")
			}
			return expr.TextValue(begin + charset{}.formEscape(at.number))
		}}, expr.AsText)
	}
	return out
}

// session is what a user knows of its session's number. Before the first response nothing
// is sent of it.
type session struct {
	asked  bool
	number string
}

// rewritten is where the number of a session is read from each response.
type rewritten struct {
	key  *element
	find func(text string) string
}

// noteSessions makes every request read what a rewriting modifier sends.
func (j *reader) noteSessions() {
	for _, w := range j.rewritten {
		for _, q := range j.Plan.Requests() {
			if q.Part {
				continue
			}
			keeps(q, true, func(a *expr.Response) {
				text, _ := a.BodyText()
				at := userState[session](a.Scope.User, w.key)
				at.asked = true
				if found := w.find(text); found != "" || !w.key.is("cache_value") {
					at.number = found
				}
			})
		}
	}
}
