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

	"whittle"
	"whittle/internal/filelock"
)

// doneName is the file that lists the letters that were sent again, by offset.
// It stands next to the letters' log, which a server may be writing.
const doneName = "RETRIED"

// lineEnd shows that a line is whole: what is left of 123 may be 12.
const lineEnd = "."

// Done is the set of letters that were sent again and need nobody any more.
type Done struct {
	file *os.File
	set  map[uint64]bool
}

// ReadDone reads which letters of a log's folder are done. A last line that was
// cut short is passed over: that letter is sent twice, under its id.
func ReadDone(dir string) (*Done, error) {
	d := &Done{set: map[uint64]bool{}}
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

// OpenDone is ReadDone for the one process that sends letters again.
func OpenDone(dir string) (*Done, error) {
	f, err := os.OpenFile(filepath.Join(dir, doneName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, whittle.Errorf(whittle.Unavailable, "open dead letters: %w", err)
	}
	d := &Done{file: f, set: map[uint64]bool{}}
	if filelock.Hold(f) != nil {
		f.Close()
		return nil, whittle.Errorf(whittle.FailedPrecondition, "another process sends the dead letters in %s again", dir).
			WithHint("wait until it has ended")
	}
	if err := d.read(f); err != nil {
		f.Close()
		return nil, err
	}
	return d, nil
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
		text, whole := strings.CutSuffix(string(line), lineEnd)
		if offset, err := strconv.ParseUint(text, 10, 64); err == nil && whole && !long && !more {
			d.set[offset] = true
		}
		long = more
	}
}

// Has reports whether a letter is done.
func (d *Done) Has(offset uint64) bool { return d.set[offset] }

// Add returns when it is on the disk that a letter is done. A line end comes
// first, so that a line that was cut short spoils no other.
func (d *Done) Add(offset uint64) error {
	_, err := d.file.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = fmt.Fprintf(d.file, "\n%d%s\n", offset, lineEnd)
	}
	if err == nil {
		err = d.file.Sync()
	}
	if err != nil {
		return whittle.Errorf(whittle.Unavailable, "note that letter %d was sent: %w", offset, err)
	}
	d.set[offset] = true
	return nil
}

// Close lets others in.
func (d *Done) Close() {
	if d.file != nil {
		d.file.Close()
	}
}
