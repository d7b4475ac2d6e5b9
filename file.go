package whittle

import (
	"errors"
	"io"
	"os"
)

// ReadFile reads a file of at most limit bytes; what names it in errors, which
// have the codes NotFound, ResourceExhausted and Invalid.
func ReadFile(what, path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		code := Invalid
		if errors.Is(err, os.ErrNotExist) {
			code = NotFound
		}
		return nil, Errorf(code, "read %s: %w", what, err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, Errorf(Invalid, "read %s: %w", what, err)
	}
	if int64(len(b)) > limit {
		return nil, Errorf(ResourceExhausted, "read %s: %s is larger than %d bytes", what, path, limit)
	}
	return b, nil
}
