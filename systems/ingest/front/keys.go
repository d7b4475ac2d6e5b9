package front

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"

	"whittle"
	"whittle/systems/ingest/event"
	"whittle/systems/ingest/stream"
)

// Keys is a list of write keys that is read from a file and can be read again.
// Of each it knows the SHA-256 only, which may also stand in the file in place
// of the key.
type Keys struct {
	path string
	list atomic.Pointer[keyList]
}

// keyList is what the file said.
type keyList struct {
	sources map[[sha256.Size]byte]string // their names, by their keys
	names   map[string]string            // likewise, by event.Digest of their keys
	plain   int                          // keys that stand in the file as they are
}

// Bounds of the file, of a key and of a name in it.
const (
	maxKeysFile = 4 << 20
	maxKey      = 128
	maxName     = 64
)

// hashPrefix begins a key that is given by its SHA-256.
const hashPrefix = "sha256:"

// ReadKeys reads a file with one key a line, or its SHA-256 as sha256:HEX. Behind
// it may stand name=, the name of the source. What follows a # is a note. A file
// without a key is an error (Invalid): an emptied list must not open the door.
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
	list, err := parseKeys(text)
	if err != nil {
		return whittle.Errorf(whittle.Invalid, "read write keys: %s: %w", k.path, err)
	}
	k.list.Store(list)
	return nil
}

func parseKeys(text []byte) (*keyList, error) {
	list := &keyList{sources: map[[sha256.Size]byte]string{}, names: map[string]string{}}
	lines := map[[sha256.Size]byte]int{}
	n := 0
	for line := range bytes.Lines(text) {
		n++
		fields := strings.Fields(string(line))
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if strings.HasPrefix(fields[0], "name=") {
			return nil, fmt.Errorf("line %d: %q is a setting, and would be a key that is easy to guess: the key comes first", n, fields[0])
		}
		sum, hashed, err := sumOf(fields[0])
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if before := lines[sum]; before > 0 {
			return nil, fmt.Errorf("line %d: the key of line %d again: which line counts?", n, before)
		}
		lines[sum] = n
		if !hashed {
			list.plain++
		}
		source := event.DigestOf(sum)
		setting, _, _ := strings.Cut(" "+strings.Join(fields[1:], " "), " #")
		if setting = strings.TrimSpace(setting); setting != "" {
			name, ok := strings.CutPrefix(setting, "name=")
			if !ok || !plain(name, maxName) || name == anySource || name == unknownSource {
				return nil, fmt.Errorf("line %d: %q is not name= and 1 to %d visible ASCII characters, neither %s nor %s; put a # before a note",
					n, setting, maxName, anySource, unknownSource)
			}
			source = name
		}
		list.sources[sum], list.names[event.DigestOf(sum)] = source, source
	}
	if len(list.sources) == 0 {
		return nil, fmt.Errorf("no key in it")
	}
	return list, nil
}

// sumOf reads a key, or its hash.
func sumOf(text string) (sum [sha256.Size]byte, hashed bool, err error) {
	if digits, ok := strings.CutPrefix(text, hashPrefix); ok {
		if n, err := hex.Decode(sum[:], []byte(digits[:min(len(digits), 2*len(sum))])); err != nil || n != len(sum) || len(digits) != 2*len(sum) {
			return sum, true, fmt.Errorf("%s needs %d hexadecimal digits behind it", hashPrefix, 2*len(sum))
		}
		return sum, true, nil
	}
	// A colon would end the user name of Basic auth.
	if !plain(text, maxKey) || strings.Contains(text, ":") {
		return sum, false, fmt.Errorf("a key is 1 to %d visible ASCII characters without a colon", maxKey)
	}
	return sha256.Sum256([]byte(text)), false, nil
}

// source returns the name of a key's source; "" where the key is not in the list.
func (k *Keys) source(key string) string {
	return k.list.Load().sources[sha256.Sum256([]byte(key))]
}

// Tenant is who the id of a record belongs to: the source by whose write key it
// came, so that an event which is sent again is known after the source's key was
// replaced. A key that is not in the list is a tenant by itself.
func (k *Keys) Tenant(r *stream.Record) string {
	digest := event.Source(r)
	if k != nil {
		if name, ok := k.list.Load().names[digest]; ok {
			return name
		}
	}
	return digest
}

// Plain is how many of the keys stand in the file as they are.
func (k *Keys) Plain() int { return k.list.Load().plain }
