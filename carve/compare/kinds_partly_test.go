package compare

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"whittle"
)

// TestHeadersInPart: of a header of which no more is compared than that it is there, or that a
// response may be kept, EQUIVALENT says so where both sides differ in it.
func TestHeadersInPart(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]func(w kindWorld, bad bool) string{
		"Last-Modified": func(w kindWorld, bad bool) string {
			return time.Unix(1_700_000_000+int64(w.key)+either[int64](bad, 3600, 0), 0).UTC().Format(http.TimeFormat)
		},
		"Expires": func(w kindWorld, bad bool) string { // of a copy, which has less and less left
			return w.now.Truncate(30 * time.Second).Add(either(bad, time.Minute, time.Hour)).UTC().Format(http.TimeFormat)
		},
		"Age": func(w kindWorld, bad bool) string { return fmt.Sprint(int(w.now.Unix())%20 + either(bad, 900, 0)) },
	} {
		makes := func(bad bool) kindMakes {
			return func(w kindWorld) kindSaid {
				return kindSaid{body: fmt.Sprintf(`{"id":%d}`, w.key), header: whittle.Header{name: {value(w, bad)}, "Date": {w.now.UTC().Format(http.TimeFormat)}}}
			}
		}
		for _, bad := range []bool{false, true} {
			k := kind{name, makes(false), makes(bad), whittle.Equivalent, ""}
			v := playKind(t, &k, 1, 2000, 100*time.Millisecond)
			if says := strings.Contains(v.Summary, "1 not compared (header "+name+")"); v.State != whittle.Equivalent || says != bad {
				t.Errorf("%s, wrong %t: %s", name, bad, v.Summary)
			}
		}
	}
}
