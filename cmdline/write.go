package cmdline

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"

	"whittle"

	"golang.org/x/term"
)

// WriteFile makes a file, with its folder, of what write writes; no path, no
// file.
func WriteFile(path string, write func(io.Writer) error) error {
	if path == "" {
		return nil
	}
	fail := func(err error) error { return whittle.Errorf(whittle.Unavailable, "write report: %w", err) }
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fail(err)
	}
	f, err := os.Create(path)
	if err != nil {
		return fail(err)
	}
	if err := errors.Join(write(f), f.Close()); err != nil {
		return fail(err)
	}
	return nil
}

// Writable says early which of the files cannot be written: before hours of work, not
// behind them. It makes their folders and changes no file; "" and "-" are none. Two
// outputs are not one file.
func Writable(paths ...string) error {
	for i, path := range paths {
		if path == "" {
			continue
		}
		if slices.ContainsFunc(paths[:i], func(other string) bool { return other != "" && filepath.Clean(other) == filepath.Clean(path) }) {
			return whittle.Errorf(whittle.Invalid, "two outputs go to %s, and the second would overwrite the first", path)
		}
		if path == "-" {
			continue
		}
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if err == nil {
			err = tryWriting(path)
		}
		if err != nil {
			return whittle.Errorf(whittle.Invalid, "open report: %w", err)
		}
	}
	return nil
}

// tryWriting opens a file, and removes it again where there was none.
func tryWriting(path string) error {
	_, missing := os.Lstat(path)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil || missing == nil {
		return err
	}
	return os.Remove(path)
}

// WriteJSON writes v to a file, or to standard output for "-"; no path, nothing.
func WriteJSON(s Streams, path string, v any) error {
	if path == "" {
		return nil
	}
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return whittle.Errorf(whittle.Internal, "encode %s: %w", path, err)
	}
	write := func(w io.Writer) error {
		_, err := w.Write(append(b, '\n'))
		return err
	}
	if path == "-" {
		return write(s.Out)
	}
	return WriteFile(path, write)
}

// Summary is what a verb found, in words for a terminal.
type Summary interface {
	WriteSummary(w io.Writer) error
}

// WriteSummary writes what a verb found as JSON, to the file that was asked for, and in
// words, unless the JSON has standard output.
func WriteSummary(s Streams, jsonPath string, r Summary) error {
	if err := WriteJSON(s, jsonPath, r); err != nil || jsonPath == "-" {
		return err
	}
	return r.WriteSummary(s.Out)
}

// Streams are the command's three files, so that tests can hold them.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Terminal reports whether out is a person's terminal.
func (s Streams) Terminal() bool {
	f, ok := s.Out.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
