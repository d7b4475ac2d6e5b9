package main

import (
	"net/http"
	"testing"
	"time"
)

// TestTheAdminListenersEndIsNotTheGateways: when the admin API's listener fails, users
// are served on, and the API comes back at its address.
func TestTheAdminListenersEndIsNotTheGateways(t *testing.T) {
	h := runs(t, "listen: 127.0.0.1:0\nadmin: 127.0.0.1:0\nmonolith: "+"http://127.0.0.1:9"+"\n")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	asks := func(url string) int {
		resp, err := client.Get(url)
		if err != nil {
			return 0
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	health := "http://" + h.d.adminAddr() + "/readyz"
	for deadline := time.Now().Add(time.Minute); asks(health) != http.StatusOK; {
		if time.Now().After(deadline) {
			t.Fatal("the admin API is not there")
		}
	}
	h.d.admin.listener.Close()
	back := false
	for deadline := time.Now().Add(time.Minute); !back && time.Now().Before(deadline); {
		if got := asks(h.url + "/"); got != http.StatusBadGateway { // nobody is at the monolith's address
			t.Fatalf("a user got %d", got)
		}
		back = asks(health) == http.StatusOK
	}
	if !back {
		t.Error("the admin API does not come back")
	}
	h.stop()
	if err := <-h.ended; err != nil {
		t.Error(err)
	}
}
