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

// otherFormats are common formats that Read refuses, by how their files begin.
var otherFormats = []struct{ begins, is, hint string }{
	{`{"snapshot":`, "a V8 heap snapshot", "Chrome's developer tools read it"},
	{`{"head":`, "a .heapprofile, or a .cpuprofile of Node before 12", "node --cpu-prof writes a .cpuprofile; Chrome's developer tools read a .heapprofile"},
	{`{"traceEvents":`, "a trace", "node --cpu-prof writes a .cpuprofile; or give the process id"},
	{`{"metadata":`, "a trace", "node --cpu-prof writes a .cpuprofile; or give the process id"},
	{`{"$schema":"https://www.speedscope.app`, "a speedscope profile", formats},
	{`{"meta":`, "a Firefox profile", formats},
	{"PERFILE2", "a perf recording", formats},
	{"FLR\x00", "a Java Flight Recorder file", formats},
	{"heap profile: ", "a text page of net/http/pprof", "fetch it without ?debug=1"},
	{"goroutine ", "a text page of net/http/pprof", "fetch it without ?debug"},
	{"threadcreate profile: ", "a text page of net/http/pprof", "fetch it without ?debug=1"},
	{"--- ", "a text page of net/http/pprof", "fetch it without ?debug=1"},
	{"<", "a page or a picture, not a profile", "give the profile itself"},
}

// Read reads a saved profile, gzipped or not: pprof's of a Go program, or V8's. kind says which of a file's values is meant; with none it is the file's own.
// What is too large, damaged or of another format is refused, with a hint what to do.
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
	for _, f := range otherFormats {
		if bytes.HasPrefix(text, []byte(f.begins)) {
			return nil, whittle.Errorf(whittle.Unsupported, "read profile: the file is %s", f.is).WithHint(f.hint)
		}
	}
	read := func() (*Profile, error) { return ReadPprof(b, kind) }
	if text[0] == '{' {
		read = func() (*Profile, error) { return ReadV8CPU(text, time.Time{}) }
	}
	p, err := read()
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
