// Package cmdline runs a program whose command line is a struct of verbs. It reports
// the result in one form: the error once, its hint below it, and the exit status of
// its code.
package cmdline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"whittle"
)

// Program is a command line.
type Program struct {
	// Name is what the user types, Description what --help begins with.
	Name, Description string
	// Verbs is a pointer to the struct that kong fills, one field a verb.
	Verbs any
	// Bind holds the arguments that verbs' Run methods may take in addition to the context.
	Bind []any
	// Options are added to kong's.
	Options  []kong.Option
	Out, Err io.Writer
}

// exitSignal carries kong's wish to exit (after --help) out of Parse.
type exitSignal int

// Run parses args and runs one verb. It returns the exit status of the process
// and has printed every message for the user.
func (p *Program) Run(ctx context.Context, args []string) (status int) {
	parser, err := kong.New(p.Verbs, slices.Concat([]kong.Option{
		kong.Name(p.Name),
		kong.Description(p.Description),
		kong.Writers(p.Out, p.Err),
		kong.Exit(func(code int) { panic(exitSignal(code)) }),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(p.Bind...),
	}, values(), p.Options)...)
	if err != nil {
		fmt.Fprintf(p.Err, "%s: %v\n", p.Name, err)
		return whittle.Internal.ExitStatus()
	}
	defer func() {
		if r := recover(); r != nil {
			code, ok := r.(exitSignal)
			if !ok {
				panic(r)
			}
			status = int(code)
		}
	}()
	verb, err := parser.Parse(asHelp(parser, args))
	if err == nil {
		err = together(verb)
	}
	if err == nil {
		err = filled(verb)
	}
	if err != nil {
		fmt.Fprintf(p.Err, "%s: %s\n", p.Name, plainly(err))
		fmt.Fprintf(p.Err, "%s\n", advice(p.Name, verb, err))
		return whittle.Invalid.ExitStatus()
	}
	return p.Report(verb.Run())
}

// Report prints errors once, each with its hint, and gives the exit status of
// the first. An interrupted program did what it was asked to, so that alone is no error.
func (p *Program) Report(err error) int {
	if err = uninterrupted(err); err == nil {
		return 0
	}
	for _, one := range unjoined(err) {
		fmt.Fprintf(p.Err, "%s: %v\n", p.Name, one)
		if hint := HintOf(one); hint != "" {
			fmt.Fprintf(p.Err, "  %s\n", hint)
		}
	}
	return whittle.CodeOf(err).ExitStatus()
}

var joined = reflect.TypeOf(errors.Join(context.Canceled))

// uninterrupted is an error without what says only that the program was interrupted; nil:
// nothing is left.
func uninterrupted(err error) error {
	if !errors.Is(err, context.Canceled) {
		return err
	}
	var left []error
	if reflect.TypeOf(err) == joined {
		for _, one := range unjoined(err) {
			left = append(left, uninterrupted(one))
		}
	}
	return errors.Join(left...)
}

// HintOf is the outermost hint of an error and its causes.
func HintOf(err error) string {
	for e, ok := errors.AsType[*whittle.Error](err); ok; e, ok = errors.AsType[*whittle.Error](e.Err) {
		if e.Hint != "" {
			return e.Hint
		}
	}
	return ""
}

// unjoined takes a join of errors apart.
func unjoined(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

// What a release's linker sets (-X); a build without it says what Go knows of it.
var version, commit, date string

// Version is a program's version, the commit that it was built of with its time, and the
// Go release that it was built with; what is not known is left out.
func Version(name string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return name + " (unknown build)"
	}
	return name + " " + strings.Join(versionOf(info), " ")
}

func versionOf(info *debug.BuildInfo) []string {
	version, commit, date := builtOf(info)
	parts := []string{version, commit, date, info.GoVersion}
	return slices.DeleteFunc(parts, func(s string) bool { return s == "" })
}

func builtOf(info *debug.BuildInfo) (string, string, string) {
	if version != "" {
		return version, commit, date
	}
	version, commit, date := info.Main.Version, "", ""
	for _, kv := range info.Settings {
		switch {
		case kv.Key == "vcs.revision":
			commit = kv.Value
		case kv.Key == "vcs.time":
			date = kv.Value
		case kv.Key == "vcs.modified" && kv.Value == "true" && !strings.Contains(version, "dirty"):
			version += "+dirty"
		}
	}
	return version, commit, date
}
