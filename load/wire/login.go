package wire

import (
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"regexp"
	"strconv"
	"strings"
	"time"

	"whittle/load/expr"
	"whittle/load/plan"
)

// loginFor is the name and password for a request's URL; nil: none.
func (c *Client) loginFor(q *request, target string, scope *expr.Scope) *plan.LoginEntry {
	if q.Login == nil {
		return nil
	}
	url := scheme(q.endpoint) + q.endpoint.host + target
	for i := range q.Login.Entries {
		e := &q.Login.Entries[i]
		if strings.HasPrefix(url, string(e.URL.Render(nil, scope))) {
			return e
		}
	}
	return nil
}

// basic is RFC 7617's header value. What is not ASCII is a question mark, as JMeter's
// client writes it.
func basic(e *plan.LoginEntry, scope *expr.Scope) string {
	pair := e.User.Render(nil, scope)
	pair = e.Password.Render(append(pair, ':'), scope)
	ascii := strings.Map(func(r rune) rune {
		if r > 0x7f {
			return '?'
		}
		return r
	}, string(pair))
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(ascii))
}

// logInAhead gives a rendered request its name and password where it sends them
// unasked.
func (c *Client) logInAhead(q *request, scope *expr.Scope, now time.Time) {
	if e := c.loginFor(q, requestTarget(c.out), scope); e != nil && !e.OnChallenge && !q.HasHeader("authorization") {
		c.renderWith(q, scope, now, "authorization", basic(e, scope))
	}
}

// logIn sends a request again as a server that wants a login asks for it. Where it
// asks for none that is known, its response stands.
func (c *Client) logIn(ctx context.Context, q *request, scope *expr.Scope, deadline time.Time, t *Timing) error {
	target := requestTarget(c.out)
	e := c.loginFor(q, target, scope)
	if e == nil {
		return nil
	}
	asked := c.resp.header("www-authenticate")
	kind, challenge, _ := strings.Cut(asked, " ")
	var value string
	switch {
	case strings.EqualFold(kind, "digest"):
		value = digest(challenge, q.Method, target, string(e.User.Render(nil, scope)), string(e.Password.Render(nil, scope)), scope)
	case strings.EqualFold(kind, "basic") && e.OnChallenge:
		value = basic(e, scope)
	}
	if value == "" {
		return nil
	}
	c.renderWith(q, scope, c.net.now(), "authorization", value)
	err := c.exchangeAgain(ctx, q, deadline, t)
	if err == nil {
		c.storeCookies(q)
	}
	return err
}

// challengeField is a parameter of a challenge.
var challengeField = regexp.MustCompile(`(\w+)=(?:"((?:[^"\\]|\\.)*)"|([^,\s]+))`)

// digest is RFC 7616's header value for a challenge, empty where that asks for more
// than MD5 or SHA-256 and the quality auth.
func digest(challenge, method, target, user, password string, scope *expr.Scope) string {
	given := map[string]string{}
	for _, m := range challengeField.FindAllStringSubmatch(challenge, 16) {
		given[strings.ToLower(m[1])] = m[2] + m[3]
	}
	sum := func(text string) string { b := md5.Sum([]byte(text)); return hex.EncodeToString(b[:]) }
	switch strings.ToUpper(given["algorithm"]) {
	case "", "MD5":
	case "SHA-256":
		sum = func(text string) string { b := sha256.Sum256([]byte(text)); return hex.EncodeToString(b[:]) }
	default:
		return ""
	}
	secret, asked := sum(user+":"+given["realm"]+":"+password), sum(method+":"+target)
	quoted := func(text string) string { return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"` }
	out := "Digest username=" + quoted(user) + ", realm=\"" + given["realm"] + "\", nonce=\"" + given["nonce"] + "\", uri=" + quoted(target)
	if qop, ok := given["qop"]; ok {
		if !strings.Contains(","+strings.ReplaceAll(qop, " ", "")+",", ",auth,") {
			return ""
		}
		cnonce := strconv.FormatUint(scope.RNG.Uint64()|1<<63, 16)
		out += `, response="` + sum(strings.Join([]string{secret, given["nonce"], "00000001", cnonce, "auth", asked}, ":")) + `", qop=auth, nc=00000001, cnonce="` + cnonce + `"`
	} else {
		out += `, response="` + sum(secret+":"+given["nonce"]+":"+asked) + `"`
	}
	if a := given["algorithm"]; a != "" {
		out += ", algorithm=" + a
	} else {
		out += ", algorithm=MD5"
	}
	if o, ok := given["opaque"]; ok {
		out += `, opaque="` + o + `"`
	}
	return out
}
