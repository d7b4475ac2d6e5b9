package ingest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"whittle/carve/dashboard/dashboardtest"
	"whittle/e2e/process"
	"whittle/internal/fatal"
)

// sends is what a page of another origin does, by the id of its event.
var sends = map[string]string{
	"fetch with a key and JSON": `fetch(URL + '/v1/track', {method: 'POST', body: EVENT,
		headers: {'Content-Type': 'application/json', Authorization: 'Basic ' + btoa('key:')}}).then(r => r.json()).then(a => a.status)`,
	"fetch of plain text": `fetch(URL + '/v1/t', {method: 'POST', keepalive: true, headers: {'Content-Type': 'text/plain'}, body: EVENT})
		.then(r => r.json()).then(a => a.status)`,
	"a beacon":      `Promise.resolve(navigator.sendBeacon(URL + '/v1/t?writeKey=key', EVENT) ? 'accepted' : 'not queued')`,
	"a JSON beacon": `Promise.resolve(navigator.sendBeacon(URL + '/v1/t', new Blob([EVENT], {type: 'application/json'})) ? 'accepted' : 'not queued')`,
}

// TestPagesOfOtherOrigins has a real browser send events as SDKs and closing
// pages do, to a service that takes any origin and to one that lists the page's.
func TestPagesOfOtherOrigins(t *testing.T) {
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<!doctype html><title>A shop</title>")
	}))
	defer page.Close()
	b := dashboardtest.Open(t)
	b.Go(page.URL)
	for name, flags := range map[string][]string{"any origin": nil, "a list": {"--origins", page.URL}} {
		s := serve(t, t.TempDir(), flags...)
		want := 0
		for what, script := range sends {
			event, err := json.Marshal(map[string]string{"type": "track", "event": "e", "userId": "u", "messageId": what, "writeKey": "key"})
			fatal.If(t, err)
			if said := b.JS(fmt.Sprintf(`(() => { const URL = %q, EVENT = %q; return %s.catch(String) })()`, s.public, event, script)); said != "accepted" {
				t.Errorf("%s, %s: %q", name, what, said)
			}
			want++
		}
		process.Until(t, name+": all are kept", func() bool { return s.figure("ingest_log_records_total") == float64(want) })
	}
}
