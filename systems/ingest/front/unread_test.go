package front

import (
	"bytes"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// TestWhatIsNotReadIsLogged: events that were sent to a wrong place, or by who may
// not, are in the log and in the figures of who sent them. Who only looks is not in
// the log.
func TestWhatIsNotReadIsLogged(t *testing.T) {
	for _, c := range []struct {
		method, path, key, kind string
		code                    string
		reason                  string // empty: nothing is logged
	}{
		{"POST", "/batch", "k1", "application/json", "404", "there is no such endpoint"},
		{"PUT", "/import", "k1", "application/json", "405", "events are sent by POST"},
		{"POST", "/v1/track", "k1", "application/xml", "415", "events are JSON"},
		{"POST", "/v1/track", "k2", "application/json", "403", "does not allow that"},
		{"POST", "/v1/track", "k3", "application/json", "401", "not known here"},
		{"POST", "/" + strings.Repeat("long", 100), "k1", "application/json", "404", "there is no such endpoint"},
		{"GET", "/favicon.ico", "k1", "", "404", ""},
	} {
		keys, err := ReadKeys(keysFile(t, "k1 name=shop\nk2 name=app allow=none\n"))
		if err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		s := serve(t, func(o *Options) { o.Keys, o.Log = keys, slog.New(slog.NewTextHandler(&log, nil)) })
		a := s.send(c.method, c.path, http.NoBody, "Authorization: Bearer "+c.key, "Content-Type: "+c.kind)
		name := map[string]string{"k1": "shop", "k2": "app", "k3": unknownSource}[c.key]
		if n := testutil.ToFloat64(s.front.metrics.refusedOf.WithLabelValues(name, c.code)); n != 1 {
			t.Errorf("%s %.20s by %s: %d, %v counted", c.method, c.path, c.key, a.code, n)
		}
		if got := log.String(); c.reason == "" && got != "" || !strings.Contains(got, c.reason) || c.reason != "" && !strings.Contains(got, "source="+name) || len(got) > 500 {
			t.Errorf("%s %.20s by %s: logged is %q", c.method, c.path, c.key, got)
		}
	}
}
