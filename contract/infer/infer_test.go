package infer

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"whittle/record/capture"
)

func TestShop(t *testing.T) {
	var log []*capture.Entry
	for i := range 40 {
		phone := fmt.Sprintf(`"phone":"+31 %d"`, i)
		if i%3 == 0 {
			phone = `"phone":null`
		}
		user := fmt.Sprintf(`{"id":%d,"name":"Ann %d","createdAt":"2024-05-01T10:00:%02dZ","price":%d.5,"state":%q,"tags":["a"],%s,"address":{"city":"X","zip":"0%d"}}`,
			i, i, i, i, []string{"OPEN", "CLOSED"}[i%2], phone, i)
		log = append(log, entry("GET", fmt.Sprintf("/users/%d?full=true", i), "", user))
		log = append(log, entry("GET", fmt.Sprintf("/users?page=%d", i), "", "["+user+"]"))
		log = append(log, entry("POST", "/Count", fmt.Sprintf(`{"times":%d}`, i*100), fmt.Sprintf("Counted to %d \n", i*5000)))
		log[len(log)-1].Response.Header["Content-Type"] = []string{"text/html; charset=utf-8"}
	}
	c := learn(t, Options{}, log...)
	t.Logf("%s", c.Proto())
	for _, m := range c.Methods {
		t.Logf("%s %+v %+v", m.Name, m.HTTP, m.Compare)
		for _, g := range m.Guesses {
			t.Logf("   %s: %s, not %s: %s", g.Path, g.Chosen, g.Against, g.Evidence)
		}
	}
}

// TestHeadersOfResponses are listed, with which of them the gateway compares, and
// what says who asked.
func TestHeadersOfResponses(t *testing.T) {
	var log []*capture.Entry
	for i := range 20 {
		x := entry("GET", fmt.Sprintf("/users/%d", i), "", fmt.Sprintf(`{"id":%d}`, i))
		if i < 7 {
			x.Request.Header["Cookie"] = []string{"session=1"}
		}
		x.Response.Header["Vary"] = []string{"Cookie"}
		x.Response.Header["Etag"] = []string{"1"}
		x.Response.Header["X-Total-Count"] = []string{"7"}
		if i%2 == 0 {
			x.Response.Header["Cache-Control"] = []string{"no-store"}
		}
		log = append(log, x)
	}
	got := map[string]string{}
	for _, g := range learn(t, Options{}, log...).Methods[0].Guesses {
		if strings.Contains(g.Path, " header ") {
			got[g.Path] = g.Evidence
		}
	}
	if want := map[string]string{
		"request header Cookie":         "7 of 20 requests have it; where the response depends on it, logic of your own reads delegate.RequestHeader(ctx)",
		"response header Cache-Control": "10 of 20 responses have it; it is compared, so logic of your own has to set it",
		"response header Vary":          "20 of 20 responses have it; it is compared, so logic of your own has to set it",
		"response header X-Total-Count": "20 of 20 responses have it; it is compared, so logic of your own has to set it",
	}; !maps.Equal(got, want) {
		t.Errorf("%v", got)
	}
}
