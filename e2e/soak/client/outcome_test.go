package client

import (
	"bytes"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"whittle/e2e/soak/plan"
)

// TestCheck holds responses to a plan: what differs in anything is found, and called
// what it is.
func TestCheck(t *testing.T) {
	p := &plan.Plan{Number: 5, Seed: 1, Status: 200, Length: 300, Trailer: true}
	body := p.Response()
	other := (&plan.Plan{Number: 6, Seed: 1, Length: 300}).Response()
	good := func() *response {
		return &response{200, http.Header{
			plan.Of: {"5"}, "Set-Cookie": {"a=1", "b=2"}, "Etag": {`"soak"`}, "Content-Type": {"application/octet-stream"}, "Content-Length": {"300"},
		}, bytes.NewReader(body.Bytes()), &http.Header{plan.Of + "-End": {"5"}}}
	}
	for name, tt := range map[string]struct {
		change func(*response)
		class  Class
	}{
		"whole":                  {func(*response) {}, Whole},
		"an error of a proxy's":  {func(a *response) { a.header, a.status = http.Header{}, 502 }, Refused},
		"a 200 of nobody's":      {func(a *response) { a.header.Del(plan.Of) }, Wrong},
		"another's head":         {func(a *response) { a.header.Set(plan.Of, "6") }, Mixed},
		"another's body":         {func(a *response) { a.body = bytes.NewReader(other.Bytes()) }, Mixed},
		"done twice":             {func(a *response) { a.status = plan.StatusDoubled }, Doubled},
		"an upload changed":      {func(a *response) { a.status = plan.StatusDamaged }, Damaged},
		"another status":         {func(a *response) { a.status = 201 }, Wrong},
		"a cookie less":          {func(a *response) { a.header["Set-Cookie"] = []string{"a=1"} }, Wrong},
		"cookies turned":         {func(a *response) { a.header["Set-Cookie"] = []string{"b=2", "a=1"} }, Wrong},
		"no tag":                 {func(a *response) { a.header.Del("Etag") }, Wrong},
		"another type":           {func(a *response) { a.header.Set("Content-Type", "text/plain") }, Wrong},
		"no length":              {func(a *response) { a.header.Del("Content-Length") }, Wrong},
		"a byte less":            {func(a *response) { a.body = bytes.NewReader(body.Bytes()[:299]) }, Wrong},
		"it breaks off":          {func(a *response) { a.body = iotest.ErrReader(errors.New("reset")) }, Broken},
		"no trailer":             {func(a *response) { a.trailer = &http.Header{} }, Wrong},
		"what nobody asked for":  {func(a *response) { a.header.Set("X-Poison", "1") }, Wrong},
		"poison as the response": {func(a *response) { a.header.Set(plan.Of, "0"); a.body = strings.NewReader("poison") }, Mixed},
	} {
		a := good()
		tt.change(a)
		if out := check(p, a); out.Class != tt.class {
			t.Errorf("%s is %s: %s", name, out.Class, out.Text)
		}
	}
}
