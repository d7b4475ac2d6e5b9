package cmdline

import (
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"whittle"
)

// together refuses a flag that would be ignored: what was asked for would silently not be
// done. By a flag's tags, needs:"watch" says that it does nothing without --watch (or, of
// several separated by commas, without any of them), and not:"dry-run" that it does
// nothing with --dry-run. A default is not a flag that was given.
func together(c *kong.Context) error {
	given := map[string]bool{}
	for _, p := range c.Path {
		if p.Flag != nil {
			given[p.Flag.Name] = true
		}
	}
	has := func(name string) bool {
		return slices.ContainsFunc(c.Flags(), func(f *kong.Flag) bool { return f.Name == name })
	}
	for _, p := range c.Path {
		if p.Flag == nil {
			continue
		}
		needs := slices.DeleteFunc(names(p.Flag, "needs"), func(name string) bool { return !has(name) })
		if len(needs) > 0 && !slices.ContainsFunc(needs, func(name string) bool { return given[name] }) {
			return whittle.Errorf(whittle.Invalid, "--%s does nothing without --%s: give that too, or leave --%[1]s out", p.Flag.Name, strings.Join(needs, " or --"))
		}
		for _, other := range names(p.Flag, "not") {
			if given[other] {
				return whittle.Errorf(whittle.Invalid, "--%s does nothing with --%s: leave one of them out", p.Flag.Name, other)
			}
		}
	}
	return nil
}

// filled refuses a text flag that was given without a text: it is most often a variable that
// was not set, and what was asked for would silently not be done. Free text may be empty, and
// so may what has a default or comes from the environment, which is switched off so.
func filled(c *kong.Context) error {
	for _, p := range c.Path {
		f := p.Flag
		if f == nil || len(f.Envs) > 0 || f.HasDefault || f.PlaceHolder == "TEXT" {
			continue
		}
		empty := (f.Target.Kind() == reflect.String || f.Target.Kind() == reflect.Slice) && f.Target.Len() == 0
		if all, ok := f.Target.Interface().([]string); empty || ok && slices.Contains(all, "") {
			return whittle.Errorf(whittle.Invalid, "--%s is empty: give it a value, or leave it out", f.Name)
		}
	}
	return nil
}

// GivenOf is the first of the flags that was given, as it is written; empty: none was. A
// verb asks where it is an argument that makes a flag do nothing.
func GivenOf(c *kong.Context, flags ...string) string {
	for _, p := range c.Path {
		if p.Flag != nil && slices.Contains(flags, p.Flag.Name) {
			return "--" + p.Flag.Name
		}
	}
	return ""
}

// names are the flags that a tag names.
func names(f *kong.Flag, tag string) []string {
	return strings.FieldsFunc(f.Tag.Get(tag), func(r rune) bool { return r == ',' })
}
