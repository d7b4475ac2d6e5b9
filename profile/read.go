package profile

import (
	"bytes"
	"errors"
	"strings"
	"time"

	"whittle"
)

// formats are the formats that Read takes, for a hint.
const formats = "whittle reads pprof profiles of Go programs, and V8's .cpuprofile"

// Read reads a saved profile, gzipped or not: pprof's of a Go program, or V8's. kind says
// which of a file's values is meant; with none it is the file's own. What is too large,
// damaged or of another format is refused, with a hint what to do.
func Read(b []byte, kind Kind) (*Profile, error) {
	if len(b) > MaxBytes {
		return nil, whittle.Errorf(whittle.ResourceExhausted, "read profile: more than %d MiB", MaxBytes>>20).
			WithHint("profile for a shorter time, or sample less often")
	}
	b, err := gunzip(b)
	if err != nil {
		return nil, whittle.Errorf(whittle.Invalid, "read profile: the gzipped file is cut off, damaged or too large: %w", err).
			WithHint("take it again, and copy the whole file")
	}
	text := bytes.TrimLeft(bytes.TrimPrefix(b, []byte("\ufeff")), " \t\r\n")
	if len(text) == 0 {
		return nil, whittle.Errorf(whittle.Invalid, "read profile: the file is empty").
			WithHint("put load on the process, or profile longer")
	}
	var p *Profile
	if text[0] == '{' {
		p, err = ReadV8CPU(text, time.Time{})
	} else {
		p, err = ReadPprof(b, kind)
	}
	if coded, ok := errors.AsType[*whittle.Error](err); ok && coded.Hint == "" {
		return nil, coded.WithHint("the file is cut off, or of another format; " + formats)
	}
	return p, err
}

// isGo reports whether a pprof profile can be of a Go program: one of its files is Go's,
// or no file is named and no function has another language's form.
func isGo(functions []Function) bool {
	others := false
	for i := range functions {
		f := &functions[i]
		if strings.HasSuffix(f.File, ".go") || strings.HasSuffix(f.File, ".s") {
			return true
		}
		others = others || f.File != "" || strings.Contains(f.Name, "::")
	}
	return !others
}
