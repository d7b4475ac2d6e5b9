package journal

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"whittle"
	"whittle/internal/fatal"
	"whittle/record/capture"
	"whittle/whittletest"
)

// written makes a log of one segment and gives its file, what it holds and
// where its blocks begin.
func written(t testing.TB, entries int) (path string, whole []byte, blocks []int) {
	t.Helper()
	dir := t.TempDir()
	w := create(t, dir, Options{})
	for i := range entries {
		appendAll(t, w, i, i+1)
		if i%100 == 99 {
			fatal.If(t, w.Flush())
		}
	}
	finish(t, w)
	path = segmentPath(dir, 1)
	whole = []byte(fatal.Read(t, path))
	for at := labelLen; at < len(whole); {
		h, ok := capture.ParseHeader(whole[at:])
		if !ok {
			t.Fatalf("no header at %d", at)
		}
		blocks = append(blocks, at)
		at += int(h.Size())
	}
	return path, whole, blocks
}

func spoil(t testing.TB, path string, b []byte) {
	t.Helper()
	fatal.If(t, os.WriteFile(path, b, 0o600))
}

// without is 0 to n-1 but for a range.
func without(n, from, to int) []int {
	var all []int
	for i := range n {
		if i < from || i >= to {
			all = append(all, i)
		}
	}
	return all
}

// TestDamageCostsItsBlock: a tail that is torn anywhere, a bit that is flipped anywhere, and bytes
// that came or went cost the block that they are in, and are said.
func TestDamageCostsItsBlock(t *testing.T) {
	path, whole, blocks := written(t, 500)
	type harm struct {
		b              []byte
		block          int // which is lost
		offset, length int // of what is said
	}
	at, size := blocks[2]+300, blocks[3]-blocks[2]
	all := map[string]harm{
		"went":   {slices.Concat(whole[:at], whole[at+20:]), 2, blocks[2], size - 20},
		"came":   {slices.Concat(whole[:at], make([]byte, 20), whole[at:]), 2, blocks[2], size + 20},
		"zeroed": {slices.Concat(whole[:at], make([]byte, 200), whole[at+200:]), 2, blocks[2], size},
	}
	for cut := blocks[4] + 1; cut < len(whole); cut += 97 {
		all[fmt.Sprint("cut off at ", cut)] = harm{whole[:cut], 4, blocks[4], cut - blocks[4]}
	}
	for at := blocks[1]; at < blocks[2]; at += 31 {
		b := slices.Clone(whole)
		b[at] ^= 4
		all[fmt.Sprint("flipped at ", at)] = harm{b, 1, blocks[1], blocks[2] - blocks[1]}
	}
	for name, c := range all {
		spoil(t, path, c.b)
		got, damages := numbers(t, path, Filter{})
		if !slices.Equal(got, without(500, 100*c.block, 100*c.block+100)) || len(damages) != 1 {
			t.Fatalf("%s: %d entries, %+v", name, len(got), damages)
		}
		if d := damages[0]; d.Offset != int64(c.offset) || d.Bytes != int64(c.length) || d.Segment != "00000001.wcap" ||
			strings.Contains(d.Why, "cut off") != strings.Contains(name, "cut off") {
			t.Fatalf("%s: %+v", name, d)
		}
		if l, err := List(context.Background(), path); err != nil || len(l.Damages) != 1 {
			t.Fatalf("%s: %+v, %v", name, l, err)
		}
	}
	spoil(t, path, whole[:blocks[4]])
	if _, damages := numbers(t, path, Filter{}); damages != nil {
		t.Errorf("cut between two blocks: %+v", damages)
	}
}

// A torn tail stays where it is; what a later writer has to say is in another
// segment.
func TestAWriterLeavesATornTailAlone(t *testing.T) {
	path, whole, blocks := written(t, 300)
	spoil(t, path, whole[:blocks[2]+50])
	fill(t, filepath.Dir(path), Options{}, 300, 400)
	got, damages := numbers(t, filepath.Dir(path), Filter{})
	if !slices.Equal(got, without(400, 200, 300)) || len(damages) != 1 || damages[0].Bytes != 50 {
		t.Fatalf("%d entries, %+v", len(got), damages)
	}
	now, _ := os.ReadFile(path)
	if !bytes.Equal(now, whole[:blocks[2]+50]) {
		t.Error("the old segment was written to")
	}
}

// A client that knows the format sends a whole block as a body that does not
// compress. Where the block around it is damaged, it is not taken for one.
func TestABodyIsNotTakenForABlock(t *testing.T) {
	var forged capture.Block
	fatal.If(t, forged.Add(exchange(999)))
	body := forged.Seal(nil, 12345)

	dir := t.TempDir()
	w := create(t, dir, Options{})
	e := exchange(0)
	e.Response.Body = body
	fatal.If(t, w.Append(e))
	fatal.If(t, w.Flush())
	appendAll(t, w, 1, 10)
	finish(t, w)
	path := segmentPath(dir, 1)
	whole, _ := os.ReadFile(path)
	at := bytes.Index(whole[labelLen+4:], []byte(capture.Magic))
	if at < 0 {
		t.Fatal("the body was compressed after all, so nothing here is tried")
	}
	whole[labelLen+5] ^= 1
	spoil(t, path, whole)
	got, damages := numbers(t, path, Filter{})
	if !slices.Equal(got, []int{1, 2, 3, 4, 5, 6, 7, 8, 9}) || len(damages) != 1 {
		t.Errorf("%v, %+v", got, damages)
	}
}

func TestWhatIsNoLogIsSaid(t *testing.T) {
	dir := t.TempDir()
	for path, says := range map[string]string{
		filepath.Join(dir, "absent"): "no such file",
		dir:                          "nothing has been recorded",
	} {
		_, err := Open(path)
		whittletest.Refused(t, err, whittle.NotFound, path, says)
	}
	other := filepath.Join(dir, "other.txt")
	spoil(t, other, []byte("what a log is not"))
	got, damages := numbers(t, other, Filter{})
	if len(got) != 0 || len(damages) != 1 || damages[0].Bytes != 17 {
		t.Errorf("%v, %+v", got, damages)
	}
}

func TestDamagesAreBounded(t *testing.T) {
	var d damages
	for i := range 3 * maxDamages {
		d.add(Damage{Offset: int64(i), Bytes: 1})
	}
	if len(d.all) != maxDamages || d.all[maxDamages-1].Bytes != 2*maxDamages+1 {
		t.Errorf("%d damages, the last one %+v", len(d.all), d.all[len(d.all)-1])
	}
}

// Whatever a segment's bytes are, it is read to its end.
func FuzzSegment(f *testing.F) {
	_, whole, blocks := written(f, 250)
	f.Add(whole)
	f.Add(whole[blocks[1]:])
	f.Add([]byte(labelMagic + capture.Magic))
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "00000001.wcap")
		spoil(t, path, b)
		l, err := List(context.Background(), path)
		fatal.If(t, err)
		lost := int64(0)
		for _, d := range l.Damages {
			lost += d.Bytes
		}
		if l.Bytes != int64(len(b)) || lost > l.Bytes || len(b) > labelLen && l.Entries == 0 && lost == 0 {
			t.Fatalf("%+v of %d bytes", l, len(b))
		}
	})
}
