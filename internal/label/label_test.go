package label

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"runtime/pprof"
	"testing"

	pprofile "github.com/google/pprof/profile"

	"whittle/internal/fatal"
	"whittle/profile"
)

func TestKeyIsWhatProfilesAreReadBy(t *testing.T) {
	fatal.Same(t, Key, profile.EndpointLabel, "the label that package profile reads")
}

// worn gives the endpoints of the goroutines in this process, as any profile that is
// taken of it shows them.
func worn(t *testing.T) map[string]bool {
	t.Helper()
	var b bytes.Buffer
	fatal.If(t, pprof.Lookup("goroutine").WriteTo(&b, 0))
	p, err := pprofile.ParseData(b.Bytes())
	fatal.If(t, err)
	seen := map[string]bool{}
	for _, s := range p.Sample {
		for _, endpoint := range s.Label[Key] {
			seen[endpoint] = true
		}
	}
	return seen
}

func TestRequestsAreLabelled(t *testing.T) {
	var during map[string]bool
	mux := http.NewServeMux()
	mux.Handle("GET /cache/{id}", Endpoint("GET /cache/{id}", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		during = worn(t)
		fatal.Same(t, r.PathValue("id"), "7", "id")
	})))
	mux.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/cache/7", nil))
	if !during["GET /cache/{id}"] {
		t.Errorf("during the request: %v", during)
	}
	if after := worn(t); after["GET /cache/{id}"] {
		t.Errorf("after the request: %v", after)
	}
}
