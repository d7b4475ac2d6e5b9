package durable

import (
	"errors"
	"os"
	"path/filepath"
)

// WriteFile puts a file into the place of the one at a path, for the owner alone, and
// returns when it is on the disk under that name. After an error the old one is there,
// whole, or the new one where only its name may not be on the disk. A folder that may not be
// read is left to the system.
func WriteFile(path string, text []byte) error {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return syncParent(dir)
}
