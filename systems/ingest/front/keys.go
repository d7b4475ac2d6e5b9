package front

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"

	"whittle"
)

// Keys is a list of write keys that is read from a file and can be read again.
// Write keys stand in web pages for all to see, so they are looked up as they
// are, not in constant time.
type Keys struct {
	path string
	set  atomic.Pointer[map[string]bool]
}

// Bounds of the file and of a key in it.
const (
	maxKeysFile = 4 << 20
	maxKey      = 128
)

// ReadKeys reads a file with one key a line. What follows a key after a space
// is a note, and so is a line that begins with #. A file without a key is an
// error (Invalid): an emptied list must not open the door.
func ReadKeys(path string) (*Keys, error) {
	k := &Keys{path: path}
	return k, k.Reload()
}

// Reload reads the file again. After an error (Invalid, with the line) the old
// list stays in force.
func (k *Keys) Reload() error {
	f, err := os.Open(k.path)
	if err != nil {
		return whittle.Errorf(whittle.Invalid, "read write keys: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxKeysFile+1))
	if err != nil {
		return whittle.Errorf(whittle.Invalid, "read write keys: %w", err)
	}
	if len(text) > maxKeysFile {
		return whittle.Errorf(whittle.Invalid, "read write keys: %s has more than %d bytes", k.path, maxKeysFile)
	}
	set, err := parseKeys(text)
	if err != nil {
		return whittle.Errorf(whittle.Invalid, "read write keys: %s: %w", k.path, err)
	}
	k.set.Store(&set)
	return nil
}

func parseKeys(text []byte) (map[string]bool, error) {
	set := map[string]bool{}
	n := 0
	for line := range bytes.Lines(text) {
		n++
		fields := strings.Fields(string(line))
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		key := fields[0]
		// A colon would end the user name of Basic auth.
		if !plain(key, maxKey) || strings.Contains(key, ":") {
			return nil, fmt.Errorf("line %d: a key is 1 to %d visible ASCII characters without a colon", n, maxKey)
		}
		set[key] = true
	}
	if len(set) == 0 {
		return nil, fmt.Errorf("no key in it")
	}
	return set, nil
}

// Known reports whether key is in the list.
func (k *Keys) Known(key string) bool { return (*k.set.Load())[key] }

// Len is how many keys there are.
func (k *Keys) Len() int { return len(*k.set.Load()) }
