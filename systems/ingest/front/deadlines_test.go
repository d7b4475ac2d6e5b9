package front

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"whittle/internal/fatal"
	"whittle/systems/ingest/stream"
)

// watched is a double that shows its appends.
type watched struct {
	*double
	append func(context.Context)
}

func (w watched) Append(ctx context.Context, records []stream.Record) []stream.Result {
	w.append(ctx)
	return w.double.Append(ctx, records)
}

// reading tells when it is read.
type reading struct {
	io.Reader
	started func()
}

func (r reading) Read(b []byte) (int, error) {
	r.started()
	return r.Reader.Read(b)
}

// TestSlowBodyHasTheWholeTimeToAppend has a request begin soon after another
// one, and its body come long after: the other one's time is not its own.
func TestSlowBodyHasTheWholeTimeToAppend(t *testing.T) {
	now := time.Now()
	var given []context.Context
	f, err := New(Options{
		Stream: watched{newDouble(), func(ctx context.Context) { given = append(given, ctx) }},
		Now:    func() time.Time { return now },
	})
	fatal.If(t, err)
	post := func(body io.Reader) {
		f.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/v1/track", body))
	}
	post(strings.NewReader(track))
	now = now.Add(time.Second)
	post(strings.NewReader(track))
	late := now.Add(f.limits.Append)
	post(reading{strings.NewReader(track), func() { now = late }})
	if len(given) != 3 || given[1] != given[0] || given[2] == given[0] {
		t.Errorf("contexts of %d appends: %v", len(given), given)
	}
}
