package embedded

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"testing"

	"whittle"
	"whittle/internal/fatal"
)

// TestUnreadableIsNotUnwritten has sectors that the disk does not give back when
// a log is opened. Where acknowledged records may lie in
// them the log does not open, says so and changes nothing; elsewhere it opens.
// Either way no record that can be read is lost and no offset is used again, and
// when the disk gives them back all is there.
func TestUnreadableIsNotUnwritten(t *testing.T) {
	killed, ids := written(t)
	closed := copied(killed)
	l, err := Open("", onFakeDisk(closed))
	fatal.If(t, err)
	closing(t, l)
	killedOpened, killedFailed := openUnread(t, killed, ids)
	closedOpened, closedFailed := openUnread(t, closed, ids)
	if killedOpened < 1 || killedFailed < 20 || closedOpened < 3 || closedFailed < 20 {
		t.Errorf("of a killed log %d opened and %d did not, of a closed one %d and %d",
			killedOpened, killedFailed, closedOpened, closedFailed)
	}
}

// openUnread opens copies of a disk whose sectors cannot be read, in turn.
func openUnread(t *testing.T, disk *fakeDisk, ids []string) (opened, failed int) {
	name := segmentName(0)
	end := used(t, disk, name)
	try := func(from, to int64) {
		d := copied(disk)
		d.unread = map[string][2]int64{name: {from, to}}
		about := fmt.Sprintf("sectors %d to %d of %d", from/sector, to/sector, end/sector)
		l, err := Open("", onFakeDisk(d))
		if err != nil {
			failed++
			if e, ok := err.(*whittle.Error); whittle.CodeOf(err) != whittle.Unavailable || !ok || e.Hint == "" { //nolint:errorlint // not wrapped
				t.Errorf("%s: %v", about, err)
			}
			if !maps.EqualFunc(d.seen, disk.seen, func(a, b *fakeFile) bool { return bytes.Equal(a.seen, b.seen) }) {
				t.Errorf("%s: the log did not open, and its files are others", about)
			}
		} else {
			opened++
			if _, next := span(t, l); next != uint64(len(ids)) {
				t.Errorf("%s: the log ends at %d", about, next)
			}
			keep(t, l, record("after", nil))
			closing(t, l)
		}
		d.unread = nil
		if l, err = Open("", onFakeDisk(d)); err != nil {
			t.Fatal(err)
		}
		defer closing(t, l)
		if got := readIDs(t, l); len(got) < len(ids) || !slices.Equal(got[:len(ids)], ids) {
			t.Errorf("%s: when they can be read again: %v", about, got)
		}
	}
	for from := int64(0); from < end+3*sector; from += sector {
		for _, n := range []int64{1, 2, 3, end / sector, 1000} {
			try(from, from+n*sector)
		}
	}
	return opened, failed
}
