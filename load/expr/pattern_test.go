package expr

import (
	"os"
	"reflect"
	"testing"

	"whittle/internal/fatal"
)

// TestMain lets patterns that never end give up sooner, so that they take less of the
// machine's time: for an end that never comes a twentieth is as good.
func TestMain(m *testing.M) {
	maxMatchTime /= 20
	os.Exit(m.Run())
}

// TestPatternsThatRE2HasNot: look-around and back-references backtrack, with the bounds of
// their groups in bytes.
func TestPatternsThatRE2HasNot(t *testing.T) {
	for _, c := range []struct {
		src, text string
		want      [][]int
	}{
		{`a(b)?`, "ab a", [][]int{{0, 2, 1, 2}, {3, 4, -1, -1}}},
		{`(\d)(?=;)`, "1;22;", [][]int{{0, 1, 0, 1}, {3, 4, 3, 4}}},
		{`(é)(x)?(?!z)`, "aéxézé", [][]int{{1, 4, 1, 3, 3, 4}, {7, 9, 7, 9, -1, -1}}},
		{`(.)\1`, "abba", [][]int{{1, 3, 1, 2}}},
	} {
		p, err := CompileAnyPattern(c.src, "")
		fatal.If(t, err)
		if got := p.FindAll(c.text, 10); !reflect.DeepEqual(got, c.want) || !p.MatchString(c.text) {
			t.Errorf("%s in %s: %v, want %v", c.src, c.text, got, c.want)
		}
		if got := p.FindAll(c.text, 1); len(got) != 1 {
			t.Errorf("%s in %s: %v, want one", c.src, c.text, got)
		}
	}
	if p, err := CompileAnyPattern(`(a+)+(?=b)$`, ""); err != nil || p.MatchString("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!") {
		t.Error("a pattern that never ends has found something")
	}
	if _, err := CompileAnyPattern(`(a`, ""); err == nil {
		t.Error("no pattern has passed")
	}
}
