package replay

import (
	"compress/gzip"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"whittle"
	"whittle/record/capture"
)

// TestACodingThatNobodyAskedForIsAnother: a candidate that compresses what the recorded
// request did not want compressed is DIFFERENT, and one that does what it wanted is not.
func TestACodingThatNobodyAskedForIsAnother(t *testing.T) {
	t.Parallel()
	packs := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("X-Shop", "1")
		z := gzip.NewWriter(w)
		fmt.Fprintf(z, `{"i":%s}`, r.URL.Query().Get("i"))
		_ = z.Close()
	}))
	defer packs.Close()
	for _, asked := range []bool{false, true} {
		var list []*capture.Entry
		for i := range 600 {
			e := get(i, fmt.Sprintf("/item?i=%d", i), fmt.Sprintf(`{"i":%d}`, i))
			e.Response.Header = whittle.Header{"Content-Type": {"application/json"}, "X-Shop": {"1"}} // without any nobody knows what there was
			e.Request.Header = whittle.Header{"Accept-Encoding": {"identity"}}
			if asked {
				e.Request.Header = whittle.Header{"Accept-Encoding": {"br, gzip"}}
			}
			list = append(list, e)
		}
		r := run(t, kept(list...), Options{Against: packs.URL})
		if got := r.Verdict == whittle.Different; got == asked || r.Ledger.Compared != 600 {
			t.Errorf("asked for %t: %s, %s, %+v", asked, r.Verdict, r.Summary, r.Ledger)
		}
	}
}
