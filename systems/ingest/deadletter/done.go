package deadletter

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"whittle"
	"whittle/internal/filelock"
	"whittle/systems/ingest/stream"
)

// doneName is the file that lists the letters that need nobody any more, by
// offset. It stands next to the letters' log, which a server may be writing.
const doneName = "RETRIED"

// lineEnd shows that a line is whole: what is left of 123 may be 12.
const lineEnd = "."

// Outcome says what became of a letter.
type Outcome string

// The outcomes.
const (
	// Sent: it was sent again as it is, and taken.
	Sent Outcome = "sent"
	// Mended: what somebody made of it was sent, and taken.
	Mended Outcome = "mended"
	// Replaced: it was rejected again, and the new letter stands for it.
	Replaced Outcome = "replaced"
	// Removed: somebody said that nobody needs it.
	Removed Outcome = "removed"
)

// Note is the trace that a letter leaves when it is done.
type Note struct {
	Outcome Outcome
	// Time is when it was done. Zero: by a version that did not write it down.
	Time time.Time
	// Text is who replaced it, or why it was removed; at most MaxNote bytes.
	Text string
}

// MaxNote bounds the text of a note.
const MaxNote = 512

// Done is the set of letters that need nobody any more.
type Done struct {
	file  *os.File
	path  string
	lines int // that the file holds
	notes map[uint64]Note
}

// ReadDone reads which letters of a log's folder are done. A last line that was
// cut short is passed over: that letter is sent twice, under its id.
func ReadDone(dir string) (*Done, error) {
	d := &Done{notes: map[uint64]Note{}}
	f, err := os.Open(filepath.Join(dir, doneName))
	if errors.Is(err, fs.ErrNotExist) {
		return d, nil
	}
	if err != nil {
		return nil, whittle.Errorf(whittle.Unavailable, "read dead letters: %w", err)
	}
	defer f.Close()
	return d, d.read(f)
}

// OpenDone is ReadDone for the one process that changes the set.
func OpenDone(dir string) (*Done, error) {
	d := &Done{path: filepath.Join(dir, doneName), notes: map[uint64]Note{}}
	for d.file == nil {
		f, err := os.OpenFile(d.path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, whittle.Errorf(whittle.Unavailable, "open dead letters: %w", err)
		}
		if filelock.Hold(f) != nil {
			f.Close()
			return nil, whittle.Errorf(whittle.FailedPrecondition, "another process sends the dead letters in %s again", dir).
				WithHint("wait until it has ended")
		}
		if !isAt(f, d.path) {
			f.Close() // it was written anew before it was held
			continue
		}
		d.file = f
	}
	if err := d.read(d.file); err != nil {
		d.file.Close()
		return nil, err
	}
	return d, nil
}

// isAt reports whether a path still names f.
func isAt(f *os.File, path string) bool {
	held, err := f.Stat()
	if err != nil {
		return true // what is wrong shows when it is read
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(held, there)
}

// read passes over what is no whole line of a letter: it was cut short or is
// damaged, and such a letter is sent twice, under its id.
func (d *Done) read(f *os.File) error {
	lines := bufio.NewReader(f)
	long := false // what comes is the rest of a line that is too long
	for {
		line, more, err := lines.ReadLine()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return whittle.Errorf(whittle.Unavailable, "read dead letters: %w", err)
		}
		if offset, note, ok := parseLine(string(line)); ok && !long && !more {
			d.notes[offset] = note
			d.lines++
		}
		long = more
	}
}

// parseLine reads a line of a letter: 123 #SUM. or 123 removed TIME "why" #SUM. Earlier
// versions wrote no sum.
func parseLine(line string) (offset uint64, n Note, ok bool) {
	text, whole := strings.CutSuffix(line, lineEnd)
	if at := len(text) - sumLen; at > 0 && strings.HasPrefix(text[at:], sumMark) {
		if text[at:] != sumOf(text[:at]) {
			return 0, n, false
		}
		text = text[:at]
	}
	number, rest, noted := strings.Cut(text, " ")
	offset, err := strconv.ParseUint(number, 10, 64)
	if !whole || err != nil {
		return 0, n, false
	}
	if !noted {
		return offset, Note{Outcome: Sent}, true
	}
	outcome, rest, _ := strings.Cut(rest, " ")
	at, quoted, _ := strings.Cut(rest, " ")
	n.Outcome = Outcome(outcome)
	if n.Time, err = time.Parse(time.RFC3339, at); err == nil {
		n.Text, err = strconv.Unquote(quoted)
	}
	return offset, n, err == nil
}

func appendLine(b []byte, offset uint64, n Note) []byte {
	text := strconv.FormatUint(offset, 10)
	if !n.Time.IsZero() {
		text = fmt.Sprintf("%d %s %s %q", offset, n.Outcome, n.Time.UTC().Format(time.RFC3339), n.Text[:min(len(n.Text), MaxNote)])
	}
	return fmt.Appendf(b, "\n%s%s%s\n", text, sumOf(text), lineEnd)
}

const (
	sumMark = " #"
	sumLen  = len(sumMark) + 8
)

// sumOf is what stands behind a line's text, lest a flipped bit make another letter of
// one that is done.
func sumOf(text string) string {
	return fmt.Sprintf("%s%08x", sumMark, stream.Checksum([]byte(text)))
}

// Has reports whether a letter is done.
func (d *Done) Has(offset uint64) bool { return d.Of(offset).Outcome != "" }

// Of is what became of a letter, the zero Note where it is not done.
func (d *Done) Of(offset uint64) Note { return d.notes[offset] }

// For is what became of the letter at an offset that came at a time. A note of before it
// came is of another letter, whose log is gone: it was at the same offset.
func (d *Done) For(offset uint64, came time.Time) Note {
	n := d.Of(offset)
	if !n.Time.IsZero() && came.After(n.Time.Add(time.Second)) { // notes have whole seconds
		return Note{}
	}
	return n
}

// Add returns when it is on the disk that letters are done. A line end comes
// first, so that a line that was cut short spoils no other.
func (d *Done) Add(n Note, offsets ...uint64) error {
	var text []byte
	for _, offset := range offsets {
		text = appendLine(text, offset, n)
	}
	_, err := d.file.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = d.file.Write(text)
	}
	if err == nil {
		err = d.file.Sync()
	}
	if err != nil {
		return whittle.Errorf(whittle.Unavailable, "note that dead letters are done: %w", err)
	}
	for _, offset := range offsets {
		d.notes[offset] = n
	}
	d.lines += len(offsets)
	return nil
}

// tidyLines is how many lines the file may have of letters that are gone before it
// is written anew.
const tidyLines = 1000

// Tidy forgets the letters that are not there any more, so that the file stays about
// as long as the log has letters.
func (d *Done) Tidy(isThere func(offset uint64) bool) error {
	kept := map[uint64]Note{}
	var text []byte
	for offset, n := range d.notes {
		if isThere(offset) {
			kept[offset] = n
			text = appendLine(text, offset, n)
		}
	}
	if d.lines-len(kept) < tidyLines {
		return nil
	}
	f, err := writeBehind(d.path, text)
	if err != nil {
		return whittle.Errorf(whittle.Unavailable, "forget dead letters that are gone: %w", err)
	}
	d.file.Close()
	d.file, d.notes, d.lines = f, kept, len(kept)
	return nil
}

// writeBehind puts another file into the place of one, on the disk and held before
// it has the name.
func writeBehind(path string, text []byte) (*os.File, error) {
	f, err := os.OpenFile(path+".new", os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	err = filelock.Hold(f)
	if err == nil {
		_, err = f.Write(text)
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		f.Close()
		return nil, errors.Join(err, os.Remove(f.Name()))
	}
	return f, nil
}

// Close lets others in.
func (d *Done) Close() {
	if d.file != nil {
		d.file.Close()
	}
}
