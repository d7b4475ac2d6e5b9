package journal

import (
	"context"
	"errors"
	"io"
	"testing"

	"whittle"
	"whittle/internal/fatal"
)

// What a writer says of its entries stays with them, whatever is said later.
func TestWhatIsSaidOfEntries(t *testing.T) {
	dir := t.TempDir()
	w := create(t, dir, Options{About: []byte("one")})
	appendAll(t, w, 0, 3)
	for _, say := range []string{"one", "two", "two"} { // the same begins nothing
		fatal.If(t, w.Describe([]byte(say)))
	}
	appendAll(t, w, 3, 5)
	if err := w.Describe(make([]byte, MaxAbout+1)); whittle.CodeOf(err) != whittle.Internal {
		t.Errorf("too long: %v", err)
	}
	finish(t, w)
	w = create(t, dir, Options{})
	appendAll(t, w, 5, 6)
	finish(t, w)
	w = create(t, dir, Options{About: []byte("one")})
	appendAll(t, w, 6, 7)
	finish(t, w)

	if got, damages := numbers(t, dir, Filter{}); len(got) != 7 || damages != nil {
		t.Errorf("%v, %+v", got, damages)
	}
	r, err := Open(dir)
	fatal.If(t, err)
	defer r.Close()
	said := ""
	for {
		if _, err := r.Next(context.Background(), Filter{}); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		said += string(r.About()) + "."
	}
	if said != "one.one.one.two.two..one." {
		t.Error(said)
	}
	l, err := List(context.Background(), dir, nil)
	if err != nil || len(l.Parts) != 3 || l.Parts[0].Entries != 4 || string(l.Parts[1].About) != "two" || l.Parts[1].Entries != 2 || l.Parts[2].About != nil {
		t.Errorf("%+v, %v", l, err)
	}
}
