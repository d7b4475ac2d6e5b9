package compare

import (
	"fmt"
	"strings"
	"testing"
)

// TestKeysAreShownRedacted: a key of JSON may be a secret, and is one in bounds and in what was
// compared as it is in findings.
func TestKeysAreShownRedacted(t *testing.T) {
	t.Parallel()
	j := judgeOf(t, testMatch)
	j.Redact(stars{})
	for i := range 400 {
		j.Observe(withBodies(i, 5, func(side int) string { return fmt.Sprintf(`{"a":1,"secret=xyzzy":"%08d"}`, 7919*(3*i+side)) }))
		if i%100 > 20 {
			continue
		}
		v := j.Verdict()
		if said := fmt.Sprintf("%+v %+v", v, *v.Coverage); strings.Contains(said, "xyzzy") {
			t.Fatalf("after %d: %s", i+1, said)
		}
	}
	if v := j.Verdict(); len(v.Coverage.ByForm) != 1 {
		t.Errorf("%+v", v.Coverage)
	}
}
