package infer

import (
	"fmt"
	"testing"

	"whittle/capture"
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
		log[len(log)-1].Answer.Header["Content-Type"] = []string{"text/html; charset=utf-8"}
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
