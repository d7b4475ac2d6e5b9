package foreign

import (
	"bytes"

	"whittle"
)

// formats are what is read, for a hint.
const formats = "what is read: pprof, .cpuprofile, .heapprofile, collapsed stacks, speedscope, and what perf script prints"

// What is said of a page, which a tool drew of a profile, or a server sent instead of one.
const (
	page     = "a page or a picture"
	profiles = "give the profile itself: py-spy record --format raw, asprof -o collapsed, or what the URL of a pprof sends"
)

// kind is a file that profilers write and that is not read, by how it begins.
type kind struct{ begins, is, hint string }

var otherKinds = []kind{
	{"PERFILE2", "the recording of perf", "perf script -i FILE > perf.txt makes the text of it that is read"},
	{"FLR\x00", "a recording of Java Flight Recorder", "asprof -o collapsed records what is read; or convert it: jfrconv --cpu FILE.jfr out.collapsed"},
	{`{"snapshot":`, "a snapshot of V8's heap, which has objects and no stacks", "node --heap-prof writes a .heapprofile; or give the process's id and --kinds heap"},
	{`{"traceEvents":`, "a trace, of Chrome's performance panel or node --trace-events", "node --cpu-prof writes a .cpuprofile; or give the process's id"},
	{`{"metadata":`, "a trace of Chrome's performance panel", "node --cpu-prof writes a .cpuprofile; or give the process's id"},
	{"[{", "a trace in Chrome's format", "py-spy record --format raw, or speedscope, is read"},
	{`{"meta":`, "a profile of Firefox's, as its profiler and samply write them", "perf script, or speedscope, is read"},
	{`{"libs":`, "a profile of Firefox's, as its profiler and samply write them", "perf script, or speedscope, is read"},
	{"# austin:", "what Austin writes, which has functions between files and lines", "austin2speedscope makes of it what is read"},
	{"# callgrind format", "Callgrind's counts, which are of instructions", formats},
	{"JAVA PROFILE ", "a dump of Java's heap", "asprof -o collapsed records what is read"},
	{"<!", page, profiles},
	{"<?xml", page, profiles},
	{"<html", page, profiles},
	{"<svg", page, profiles},
	{"heap profile: ", "the text of pprof for people", "fetch it without ?debug=1"},
	{"goroutine profile: ", "the text of pprof for people", "fetch it without ?debug=1"},
	{"threadcreate profile: ", "the text of pprof for people", "fetch it without ?debug=1"},
	{"--- mutex:", "the text of pprof for people", "fetch it without ?debug=1"},
	{"--- contention:", "the text of pprof for people", "fetch it without ?debug=1"},
	{"goroutine ", "the stacks of goroutines, as a panic prints them", "fetch /debug/pprof/goroutine without ?debug=2"},
	{"\x7fELF", "a program", formats},
	{"PK\x03\x04", "a zip archive", "unpack it; " + formats},
}

// otherKind says of a file that is not read what it is, and what to do.
func otherKind(b []byte) error {
	text := bytes.TrimLeft(bytes.TrimPrefix(b[:min(len(b), 256)], []byte("\ufeff")), " \t\r\n")
	for _, k := range otherKinds {
		if bytes.HasPrefix(text, []byte(k.begins)) {
			return whittle.Errorf(whittle.Invalid, "read profile: the file is %s", k.is).WithHint(k.hint)
		}
	}
	return nil
}
