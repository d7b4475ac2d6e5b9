package corpustest

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// jmeterTool is the folder of JMeter's plans. Theirs is a server of its own: they were
// written for what it serves.
const jmeterTool = "jmeter"

// jmeterUser is the user that a request says it is of. JMeter's users open further
// connections for reasons of their own.
func jmeterUser(r *http.Request) int {
	n, _ := strconv.Atoi(r.Header.Get("X-User"))
	return n
}

// jmeterHeaders keeps that a connection is closed, and puts cookies in an order.
func jmeterHeaders(r *http.Request, out map[string]string) {
	delete(out, "accept-encoding")
	if r.Header.Get("Connection") == "close" || r.Close {
		out["connection"] = "close"
	}
	if all := strings.Split(out["cookie"], "; "); len(all) > 1 {
		slices.Sort(all)
		out["cookie"] = strings.Join(all, "; ")
	}
}

const jmeterPage = `<html><head><title>A page</title><link rel="stylesheet" href="/style.css"><script src="/app.js"></script></head>
<body background="/bg.png"><a href="/l1">one</a> <a href="/l2?x=1&amp;y=2">two</a>
<form action="/send"><input type="hidden" name="csrf" value="c5rf"></form>
<img src="/a.png"><img src="/b.png?v=1"><img src="/a.png"><div class="item">x <b>bold</b></div></body></html>`

// respondToJMeter responds to a request of a JMeter plan, by its path:
//
//	/status/CODE  /redirect/CODE  /redirect-cookie  /slow/MILLISECONDS
//	/cookie?n=NAME&v=VALUE   Set-Cookie NAME=VALUE
//	/basic                   401 until there is an authorization
//	/page /text              other bodies
//
// and to any other with JSON.
func respondToJMeter(w http.ResponseWriter, r *http.Request) {
	kind, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	h := w.Header()
	switch kind {
	case "status":
		code, _ := strconv.Atoi(rest)
		w.WriteHeader(code)
		return
	case "redirect":
		code, _ := strconv.Atoi(rest)
		h.Set("Location", "/landed?from="+rest)
		w.WriteHeader(code)
		return
	case "redirect-cookie":
		h.Set("Set-Cookie", "onway=1; Path=/")
		h.Set("Location", "/landed")
		w.WriteHeader(http.StatusFound)
		return
	case "cookie":
		h.Set("Set-Cookie", r.URL.Query().Get("n")+"="+r.URL.Query().Get("v")+"; Path=/")
	case "slow":
		ms, _ := strconv.Atoi(rest)
		time.Sleep(time.Duration(ms) * time.Millisecond)
	case "basic":
		if r.Header.Get("Authorization") == "" {
			h.Set("Www-Authenticate", `Basic realm="corpus"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
	case "page":
		h.Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, jmeterPage)
		return
	case "text":
		h.Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, "id=1; id=2; id=3;")
		return
	}
	h.Set("Content-Type", "application/json; charset=utf-8")
	_, _ = fmt.Fprintf(w, `{"path":%q,"token":"t","flag":true,"price":1.50,"data":{"id":5},"items":[{"id":1,"name":"a"},{"id":2,"name":"b"},{"id":3,"name":"c"}]}`, r.URL.Path)
}
