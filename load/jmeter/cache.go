package jmeter

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"whittle/load/expr"
	"whittle/load/plan"
)

// maxCached bounds the pages that a user's cache knows.
const maxCached = 5000

// pageCache is what a user knows of pages it has had, by their URLs, and by URL and
// the headers that a response varies with.
type pageCache map[string]cachedPage

// cachedPage is how a page is asked for again. JMeter keeps no body.
type cachedPage struct {
	modified, tag string
	fresh         time.Time // until when nothing is sent; zero: it is asked for
	vary          string
}

// useCache makes a request do with a CacheManager's cache as JMeter does: a page that is
// fresh is not asked for, and one that it has had is asked for if it has changed.
func (j *reader) useCache(q *plan.Request, e *element) {
	j.refuseOthers(e, "clearEachIteration", "useExpires", "maxSize", "CacheManager.controlledByThread")
	expires := e.is("useExpires")
	q.Cached = func(s *expr.Scope, url string) (lines string, fresh bool) {
		all := *userState[pageCache](s.User, e)
		page, ok := all[url]
		if ok && page.vary != "" {
			page, ok = all[varied(q, s, url, page.vary)]
		}
		switch {
		case !ok:
			return "", false
		case q.Method == http.MethodGet && page.fresh.After(s.User.Now()):
			return "", true
		}
		if page.modified != "" {
			lines = "if-modified-since: " + page.modified + "\r\n"
		}
		if page.tag != "" {
			lines += "if-none-match: " + page.tag + "\r\n"
		}
		return lines, false
	}
	keeps(q, false, func(a *expr.Response) {
		vary := a.Header("vary")
		if q.Method != http.MethodGet || vary == "*" || (a.Status < 200 || a.Status > 299) && a.Status != http.StatusNotModified {
			return
		}
		page := cachedPage{modified: string(expr.AppendHeader(nil, a.Header("last-modified"))), tag: string(expr.AppendHeader(nil, a.Header("etag")))}
		control := a.Header("cache-control")
		if page.modified == "" && page.tag == "" && control == "" && a.Header("expires") == "" || expires && strings.Contains(control, "no-store") {
			return
		}
		if expires {
			page.fresh = freshUntil(a, control, a.Scope.User.Now())
		}
		all := userState[pageCache](a.Scope.User, e)
		if *all == nil {
			*all = pageCache{}
		}
		if _, known := (*all)[a.URL]; len(*all) >= maxCached || known && vary == "" {
			return // as JMeter has it, what was known first stays
		}
		if vary != "" {
			(*all)[varied(q, a.Scope, a.URL, vary)] = page
			page.vary = vary
		}
		(*all)[a.URL] = page
	})
}

// varied is a URL with what a request sends of the headers that its response varies with.
func varied(q *plan.Request, s *expr.Scope, url, vary string) string {
	out := url + "\n" + vary
	names := strings.Split(strings.ToLower(vary), ",")
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	for _, h := range q.Headers {
		if slices.Contains(names, h.Name) {
			out += "\n" + h.Name + ": " + h.Value.Text(s)
		}
	}
	return out
}

// freshUntil is until when JMeter holds a page for fresh.
func freshUntil(a *expr.Response, control string, now time.Time) (until time.Time) {
	at, err := http.ParseTime(a.Header("expires"))
	if err == nil {
		until = at
	}
	if strings.Contains(control, "no-cache") {
		return until
	}
	if _, age, ok := strings.Cut(control, "max-age="); ok {
		if i := strings.IndexAny(age, ", "); i >= 0 {
			age = age[:i]
		}
		seconds, err := strconv.ParseInt(age, 10, 32)
		if err != nil {
			return time.Time{}
		}
		return now.Add(time.Duration(seconds) * time.Second)
	}
	if a.Header("expires") != "" {
		return until
	}
	modified, err1 := http.ParseTime(a.Header("last-modified"))
	date, err2 := http.ParseTime(a.Header("date"))
	if err1 == nil && err2 == nil {
		return now.Add(date.Sub(modified) / 10)
	}
	return now.AddDate(1, 0, 0)
}

// cacheSteps begin a round of a group's users: whose cache is cleared then forgets.
func cacheSteps(e *element, group *element) []plan.Step {
	if e == nil {
		return nil
	}
	controlled := e.is("CacheManager.controlledByThread")
	if controlled && group.value("ThreadGroup.same_user_on_next_iteration") != "false" || !controlled && !e.is("clearEachIteration") {
		return nil
	}
	return []plan.Step{{Action: does(func(u plan.User) bool {
		*userState[pageCache](u, e) = nil
		return true
	})}}
}
