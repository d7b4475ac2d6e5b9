package replay

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"whittle"
	"whittle/e2e/process"
	"whittle/internal/fatal"
)

// people responds with what is secret, each user's own, to those who log in.
func people(domain string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer real" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"user":%q,"email":"user%s@%s"}`, r.URL.Path, r.URL.Path[len("/people/"):], domain)
	})
}

// TestWhatIsRecordedIsReplayed records through the command, and replays what it
// has kept against a service that holds the same secrets and one that does not.
func TestWhatIsRecordedIsReplayed(t *testing.T) {
	monolith, other := httptest.NewServer(people("shop.example")), httptest.NewServer(people("shop.test"))
	defer monolith.Close()
	defer other.Close()
	dir := filepath.Join(t.TempDir(), "recorded")
	front := process.Start(t, filepath.Join(built, "whittle"), "record", "--listen", "127.0.0.1:0", "--monolith", monolith.URL, "--to", dir)
	var users sync.WaitGroup
	for u := range 4 {
		users.Go(func() {
			client := &http.Client{Transport: &http.Transport{}, Timeout: process.Patience}
			defer client.CloseIdleConnections()
			for i := range 150 {
				q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("http://%s/people/%d", front.Public, 150*u+i), http.NoBody)
				if err != nil {
					t.Error(err)
					return
				}
				q.Header.Set("Authorization", "Bearer real")
				resp, err := client.Do(q)
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		})
	}
	users.Wait()
	front.Signal(t, os.Interrupt)
	if err := front.Wait(); err != nil {
		t.Errorf("it ended with %v\n%s", err, front.Said())
	}

	login := []string{dir, "--speed", "max", "--header", "Authorization: Bearer real"}
	status, r := replayed(t, append(login, "--against", monolith.URL)...)
	if status != 0 || r.Ledger.Compared != 600 || r.Differing != 0 || r.Redacted.Requests != 0 {
		t.Errorf("the same secrets: status %d, %+v, %d differ, %+v", status, r.Ledger, r.Differing, r.Redacted)
	}
	status, r = replayed(t, append(login, "--against", other.URL)...)
	if status != 1 || r.Verdict != whittle.Different || r.Routes[0].Verdict.Findings[0].Path != "$.email" {
		t.Errorf("other secrets: status %d, %s", status, r.Summary)
	}
	if strings.Contains(fmt.Sprint(r.Routes), "@shop") {
		t.Error("the report holds what recording takes out")
	}
	status, r = replayed(t, dir, "--speed", "max", "--against", monolith.URL)
	if status != 3 || r.Redacted.Denied != 600 || r.Ledger.Compared != 0 {
		t.Errorf("no login: status %d, %+v", status, r.Redacted)
	}
	fatal.If(t, os.Remove(dir+".key"))
	status, r = replayed(t, append(login, "--against", monolith.URL)...)
	if status != 3 || r.Verdict != whittle.Undecided || r.Redacted.Responses != 600 {
		t.Errorf("no key: status %d, %+v", status, r.Redacted)
	}
}
