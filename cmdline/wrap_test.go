package cmdline

import (
	"fmt"
	"strings"
	"testing"
)

func TestLinesAreBrokenAtSpaces(t *testing.T) {
	var out strings.Builder
	w := &wrapper{w: &out, width: 30}
	fmt.Fprint(w, "GET /a\n  verdict   EQUIVALENT after 3 exchanges: ")
	fmt.Fprint(w, "what could\n  long      https://example.com/a/b/c/d/e/f/g/h ends\n  2026-11-28 14:22:54  0 % → 1 %  The verdict is\n")
	if want := `GET /a
  verdict   EQUIVALENT after 3
            exchanges: what
            could
  long
            https://example.com/a/b/c/d/e/f/g/h
            ends
  2026-11-28 14:22:54  0 % → 1
    %  The verdict is
`; out.String() != want {
		t.Errorf("got\n%s", out.String())
	}
	out.Reset()
	fmt.Fprintln(Streams{Out: &out}.Wrapped(), strings.Repeat("word ", 20))
	if strings.Count(out.String(), "\n") != 1 {
		t.Errorf("broken where there is no terminal:\n%s", out.String())
	}
}
