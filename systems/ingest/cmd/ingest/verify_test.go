package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/embedded"
)

// closedLog makes a log of several segments with n records and closes it.
func closedLog(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	l, err := embedded.Open(dir, embedded.Options{MaxRecord: 4 << 10, MaxBatch: 8 << 10, SegmentBytes: 64 << 10, Reserve: -1, ScrubRate: -1})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		r := stream.Record{ID: fmt.Sprint(i), Value: make([]byte, 3000)}
		r.Seal()
		if got := l.Append(t.Context(), []stream.Record{r}); got[0].Err != nil {
			t.Fatal(got[0].Err)
		}
	}
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return dir
}

// verify is not OK on a log whose end was lost after a clean close, and its words
// say how much of it was.
func TestVerifyMissesTheEndOfALog(t *testing.T) {
	const n = 60
	remove := func(names ...string) error {
		for _, name := range names {
			if err := os.Remove(name); err != nil {
				return err
			}
		}
		return nil
	}
	for name, c := range map[string]struct {
		lose   func(dir string, segments []string) error
		args   []string
		status int
		out    string
		err    string
	}{
		"whole": {nil, nil, 0, "the log was closed with its last record before offset 60", ""},
		"tail cut off": {
			func(_ string, s []string) error { return os.Truncate(s[len(s)-1], 512) }, nil, 1,
			"the log was closed with its last record before offset 60", "records are missing at the end of the log: it ends before offset",
		},
		"last segment gone":  {func(_ string, s []string) error { return remove(s[len(s)-1]) }, nil, 1, "", "and had reached 60"},
		"from a position":    {func(_ string, s []string) error { return remove(s[len(s)-1]) }, []string{"--from", "0/5"}, 1, "", "and had reached 60"},
		"all segments gone":  {func(_ string, s []string) error { return remove(s...) }, nil, 1, "0 records intact", "60 records are missing at the end of the log: it ends before offset 0, and had reached 60"},
		"first segment gone": {func(_ string, s []string) error { return remove(s[0]) }, nil, 1, "", "records are missing at the beginning of the log"},
		"mark gone":          {func(dir string, _ []string) error { return remove(filepath.Join(dir, "END")) }, nil, 1, "60 records intact", "there is no end mark (the file END)"},
		"a segment twice": {func(dir string, s []string) error {
			b, err := os.ReadFile(s[0])
			return errors.Join(err, os.WriteFile(filepath.Join(dir, "00000000000000ff.segment"), b, 0o600))
		}, nil, 1, "60 records intact", "in 00000000000000ff.segment is out of its place"},
		"bytes behind the end": {func(_ string, s []string) error {
			f, err := os.OpenFile(s[len(s)-1], os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = f.Write(bytes.Repeat([]byte("x"), 1024))
			return errors.Join(err, f.Close())
		}, nil, 1, "60 records intact", "1024 bytes behind the last record are none"},
		"a link that leads nowhere": {func(_ string, s []string) error {
			return errors.Join(os.Remove(s[1]), os.Symlink("nowhere", s[1]))
		}, nil, 3, "", "is it a link that leads nowhere?"},
		"all gone": {func(dir string, s []string) error { return remove(append(s, filepath.Join(dir, "END"))...) }, nil, 1, "", "there is no log in"},
	} {
		dir := closedLog(t, n)
		segments, err := filepath.Glob(filepath.Join(dir, "*.segment"))
		if err != nil || len(segments) < 3 {
			t.Fatalf("%v, %v", segments, err)
		}
		if c.lose != nil {
			if err := c.lose(dir, segments); err != nil {
				t.Fatal(err)
			}
		}
		var out, errs bytes.Buffer
		args := append([]string{"verify", "--env-file", "", "--data", dir}, c.args...)
		status := Run(t.Context(), args, streams{in: strings.NewReader(""), out: &out, err: &errs})
		if status != c.status || !strings.Contains(out.String(), c.out) || !strings.Contains(errs.String(), c.err) {
			t.Errorf("%s: status %d\n%s%s", name, status, &out, &errs)
		}
	}
}

// TestReadersSayWhatIsMissing: whoever reads a log whose end was lost is told, and
// what copies it does not end as if all had been there.
func TestReadersSayWhatIsMissing(t *testing.T) {
	for name, c := range map[string]struct {
		args   []string
		status int
	}{
		"tail":   {[]string{"tail"}, 0},
		"replay": {[]string{"replay", "--to-data", "NEW"}, 1},
		"move":   {[]string{"move", "--to-data", "NEW", "--state", "STATE"}, 1},
	} {
		for _, lost := range []bool{false, true} {
			dir := closedLog(t, 60)
			segments, err := filepath.Glob(filepath.Join(dir, "*.segment"))
			if err != nil {
				t.Fatal(err)
			}
			want := 0
			if lost {
				want = c.status
				if err := os.Remove(segments[len(segments)-1]); err != nil {
					t.Fatal(err)
				}
			}
			args := append(append([]string{}, c.args...), "--env-file", "", "--data", dir)
			for i, a := range args {
				if a == "NEW" || a == "STATE" {
					args[i] = filepath.Join(t.TempDir(), a)
				}
			}
			var out, errs bytes.Buffer
			status := Run(t.Context(), args, streams{in: strings.NewReader(""), out: &out, err: &errs})
			if named := strings.Contains(errs.String(), "records are missing at the end of the log"); named != lost || status != want {
				t.Errorf("%s, lost: %v: status %d\n%s%s", name, lost, status, &out, &errs)
			}
		}
	}
}

// TestDeadLettersSayWhatIsMissing: so is whoever lists dead letters.
func TestDeadLettersSayWhatIsMissing(t *testing.T) {
	dir := t.TempDir()
	closedDeadLetters(t, dir, 1<<20, 40)
	list := func() (int, string) {
		var out bytes.Buffer
		status := Run(t.Context(), []string{"dead", "ls", "--env-file", "", "--dead", dir}, streams{in: strings.NewReader(""), out: &out, err: &out})
		return status, out.String()
	}
	if status, out := list(); status != 0 || !strings.Contains(out, "40 dead letters, 40 shown; of shop 40") {
		t.Fatalf("%d %s", status, out)
	}
	verify := func() (int, string) {
		var out bytes.Buffer
		status := Run(t.Context(), []string{"verify", "--env-file", "", "--data", closedLog(t, 3), "--dead", dir}, streams{in: strings.NewReader(""), out: &out, err: &out})
		return status, out.String()
	}
	if status, out := verify(); status != 0 || !strings.Contains(out, "dead letters in") {
		t.Fatalf("%d %s", status, out)
	}
	mark := filepath.Join(dir, "END")
	if err := os.Rename(mark, mark+".away"); err != nil {
		t.Fatal(err)
	}
	for _, f := range []func() (int, string){list, verify} {
		if status, out := f(); status != 1 || !strings.Contains(out, "there is no end mark") {
			t.Fatalf("%d %s", status, out)
		}
	}
	if err := os.Rename(mark+".away", mark); err != nil {
		t.Fatal(err)
	}
	segments, err := filepath.Glob(filepath.Join(dir, "*.segment"))
	if err != nil || len(segments) < 2 {
		t.Fatal(segments, err)
	}
	if err := errors.Join(os.Rename(segments[0], mark+".away"), os.Symlink("nowhere", segments[0])); err != nil {
		t.Fatal(err)
	}
	for _, f := range []func() (int, string){list, verify} {
		if status, out := f(); status != 3 || !strings.Contains(out, "is it a link that leads nowhere?") {
			t.Fatalf("%d %s", status, out)
		}
	}
	if err := errors.Join(os.Remove(segments[0]), os.Rename(mark+".away", segments[0])); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(segments[len(segments)-1]); err != nil {
		t.Fatal(err)
	}
	if status, out := list(); status != 1 || !strings.Contains(out, "records are missing at the end of the log") || !strings.Contains(out, "; of shop ") {
		t.Fatalf("%d %s", status, out)
	}
	if status, out := verify(); status != 1 || !strings.Contains(out, "verify dead letters: ") || !strings.Contains(out, "records are missing at the end of the log") {
		t.Fatalf("%d %s", status, out)
	}
}
