package daemon

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/joho/godotenv"

	"whittle"
)

// DefaultEnvFile is the file of settings that is read where none is named.
const DefaultEnvFile = ".env"

// maxEnvFile bounds it, in bytes.
const maxEnvFile = 1 << 20

// EnvFile reads a file of settings, one NAME=value a line, none where path is empty.
// Only DefaultEnvFile may be missing. Its errors are Invalid.
func EnvFile(path string) (map[string]string, error) {
	if path == "" {
		return nil, nil
	}
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) && path == DefaultEnvFile {
		return nil, nil
	}
	if err != nil {
		return nil, whittle.Errorf(whittle.Invalid, "read env file: %w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxEnvFile+1))
	if err == nil && len(text) > maxEnvFile {
		return nil, whittle.Errorf(whittle.Invalid, "read env file %s: it has more than %d bytes", path, maxEnvFile)
	}
	var values map[string]string
	if err == nil {
		values, err = godotenv.UnmarshalBytes(text)
	}
	if err != nil {
		return nil, whittle.Errorf(whittle.Invalid, "read env file %s: %w", path, err)
	}
	return values, nil
}
