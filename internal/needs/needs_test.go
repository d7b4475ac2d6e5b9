package needs

import (
	"os"
	"path/filepath"
	"testing"
)

// stopped is a test that was ended by another one's Fatal or Skip.
type stopped struct {
	testing.TB

	failed, skipped string
}

func (s *stopped) Helper()      {}
func (s *stopped) Name() string { return "TestOfAnEngine" }
func (s *stopped) Fatalf(f string, _ ...any) {
	s.failed = f
	panic(s)
}

func (s *stopped) Skipf(f string, _ ...any) {
	s.skipped = f
	panic(s)
}

// end runs f, which must end the test that it is given.
func end(f func(testing.TB)) *stopped {
	s := &stopped{}
	func() {
		defer func() { _ = recover() }()
		f(s)
	}()
	return s
}

func TestMissingToolsAreListed(t *testing.T) {
	list := filepath.Join(t.TempDir(), "list")
	t.Setenv("NOT_TRIED", list)
	t.Setenv("REQUIRE_ALL", "")
	missing := func(t testing.TB) { Tool(t, "steam", "apt-get install\nsteam", "no-such-engine", "nor-this") }
	end(missing)
	if s := end(missing); s.skipped == "" || s.failed != "" {
		t.Errorf("it ended by %q and %q, want a skip", s.skipped, s.failed)
	}
	const line = "steam\tapt-get install steam\tTestOfAnEngine\n"
	if got, err := os.ReadFile(list); err != nil || string(got) != line+line {
		t.Errorf("the list is %q, %v", got, err)
	}
}

func TestMissingToolsFailWhereAllAreRequired(t *testing.T) {
	list := filepath.Join(t.TempDir(), "list")
	t.Setenv("NOT_TRIED", list)
	t.Setenv("REQUIRE_ALL", "1")
	if s := end(func(t testing.TB) { Missing(t, "steam", "apt-get install steam") }); s.failed == "" || s.skipped != "" {
		t.Errorf("it ended by %q and %q, want a failure", s.failed, s.skipped)
	}
	if _, err := os.Stat(list); err == nil {
		t.Error("what failed was listed too")
	}
}

func TestToolIsFound(t *testing.T) {
	if got := Tool(t, "Go", "https://go.dev/dl/", "no-such-engine", "go"); filepath.Base(got) != "go" {
		t.Errorf("it is %q", got)
	}
}
