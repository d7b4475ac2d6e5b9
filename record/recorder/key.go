package recorder

import (
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"whittle"
	"whittle/record/redact"
)

// KeyPath is the path of the key of a journal's tokens. It lies next to the
// folder, so that the folder can be handed on without it.
func KeyPath(dir string) string {
	dir = filepath.Clean(dir)
	if base := filepath.Base(dir); base == "." || base == ".." { // it has no name to put .key behind
		if abs, err := filepath.Abs(dir); err == nil {
			dir = abs
		}
	}
	return dir + ".key"
}

// LoadKey reads a key: hexadecimal digits in a file that nobody else may read.
// The error is coded NotFound where there is none.
func LoadKey(path string) ([]byte, error) {
	st, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, whittle.Errorf(whittle.NotFound, "read redaction key: %w", err)
	}
	if err != nil {
		return nil, whittle.Errorf(whittle.Unavailable, "read redaction key: %w", err)
	}
	if st.Mode().Perm()&0o077 != 0 {
		return nil, whittle.Errorf(whittle.PermissionDenied, "read redaction key: others may read %s", path).
			WithHint("chmod 600 " + path + ": who has the key can test guesses of what was redacted")
	}
	if st.Size() > 4<<10 {
		return nil, whittle.Errorf(whittle.Invalid, "read redaction key: %s is no key", path)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, whittle.Errorf(whittle.Unavailable, "read redaction key: %w", err)
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(b)))
	if err != nil || len(key) < redact.KeyBytes {
		return nil, whittle.Errorf(whittle.Invalid, "read redaction key: %s does not hold at least %d hexadecimal digits", path, 2*redact.KeyBytes).
			WithHint("remove the file to have another key made; what is recorded then has other tokens for the same secrets")
	}
	return key, nil
}

// Key reads the key at path, or makes a new one there.
func Key(path string) ([]byte, error) {
	key, err := LoadKey(path)
	if whittle.CodeOf(err) != whittle.NotFound {
		return key, err
	}
	key = redact.NewKey()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, whittle.Errorf(whittle.Unavailable, "make redaction key: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return LoadKey(path) // another process was quicker
	}
	if err != nil {
		return nil, whittle.Errorf(whittle.Unavailable, "make redaction key: %w", err)
	}
	_, err = f.WriteString(hex.EncodeToString(key) + "\n")
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		_ = os.Remove(path) // half a key is worse than none
		return nil, whittle.Errorf(whittle.Unavailable, "make redaction key: %w", err)
	}
	return key, nil
}
