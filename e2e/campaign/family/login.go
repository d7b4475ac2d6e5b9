package family

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"

	"whittle"
)

const (
	htmlType = "text/html; charset=utf-8"
	formType = "application/x-www-form-urlencoded"
)

func login() *Family {
	return &Family{
		Name:  "login", // a form, cookies and a redirect
		Route: "match: POST /login\n    safe: true\n    compare: exact",
		Request: func(r *rand.Rand, user uint64) whittle.Request {
			form := url.Values{"user": {fmt.Sprint("u", user)}, "password": {password(user)}, "next": {[]string{"/home", "/cart", "/orders?page=2"}[r.IntN(3)]}}
			switch r.IntN(12) {
			case 0:
				form.Set("password", "guess")
			case 1:
				form.Set("next", "//evil.example/")
			}
			return post("/login", formType, form.Encode())
		},
		Monolith: loginMonolith, Latency: 40 * time.Millisecond,
		Places: []Place{
			{Kind: Cookie, In: InHead, Path: "Set-Cookie"},
			{Kind: ID, In: InHead, Path: "Set-Cookie"},
			{Kind: Enum, In: InHead, Path: "Location"},
			{Kind: Header, In: InHead, Path: "Location"},
			{Kind: Header, In: InHead, Path: "Cache-Control"},
		},
	}
}

func password(user uint64) string { return fmt.Sprintf("pass-%d", row(user, "password", 1e6)) }

func loginMonolith(w *World, q *whittle.Request) whittle.Response {
	form, err := url.ParseQuery(string(q.Body))
	name, ok := number(strings.TrimPrefix(form.Get("user"), "u"))
	if err != nil || !ok || form.Get("password") != password(name) {
		return respond(401, htmlType, "<p>Wrong user or password.</p>\n", "Cache-Control", "no-store")
	}
	next := form.Get("next")
	if !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") {
		next = "/home"
	}
	draw := sha256.Sum256(fmt.Append(nil, w.Rand.Uint64(), w.Rand.Uint64()))
	session := http.Cookie{
		Name: "sid", Value: hex.EncodeToString(draw[:16]), Path: "/", MaxAge: 86400, HttpOnly: true, Secure: true, SameSite: http.SameSiteLaxMode,
	}
	return respond(302, htmlType, "", "Location", next, "Set-Cookie", session.String(), "Cache-Control", "no-store")
}
