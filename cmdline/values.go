package cmdline

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// values read numbers and durations. Numbers are decimal. A negative value is a value, not
// a flag: the field's bound (beyond) or the verb refuses it.
func values() []kong.Option {
	integer := value(func(s string, to reflect.Value) string {
		n, err := strconv.ParseInt(s, 10, to.Type().Bits())
		if err != nil {
			return notWhole(s, err, "")
		}
		to.SetInt(n)
		return ""
	})
	return []kong.Option{
		kong.KindMapper(reflect.Int, integer),
		kong.KindMapper(reflect.Int64, integer),
		kong.KindMapper(reflect.Uint64, value(func(s string, to reflect.Value) string {
			n, err := strconv.ParseUint(s, 10, 64)
			if err != nil {
				return notWhole(s, err, " from 0")
			}
			to.SetUint(n)
			return ""
		})),
		kong.KindMapper(reflect.Float64, value(func(s string, to reflect.Value) string {
			f, err := strconv.ParseFloat(s, 64)
			if err != nil {
				return fmt.Sprintf("%q is not a number", s)
			}
			to.SetFloat(f)
			return ""
		})),
		kong.TypeMapper(reflect.TypeFor[time.Duration](), value(func(s string, to reflect.Value) string {
			d, err := time.ParseDuration(s)
			if err == nil {
				to.SetInt(int64(d))
				return ""
			}
			if _, err := strconv.ParseFloat(s, 64); err == nil {
				return fmt.Sprintf("%q has no unit: write %ss for seconds or %sms for milliseconds", s, s, s)
			}
			return fmt.Sprintf("%q is not a duration: write 30s, 500ms or 2h", s)
		})),
	}
}

func notWhole(s string, err error, from string) string {
	if errors.Is(err, strconv.ErrRange) {
		return fmt.Sprintf("%q is out of range", s)
	}
	return fmt.Sprintf("%q is not a whole number%s", s, from)
}

// value is a mapper of a value that may begin with a dash. set says what is wrong with the
// text, or "".
func value(set func(s string, to reflect.Value) string) kong.MapperFunc {
	return func(ctx *kong.DecodeContext, target reflect.Value) error {
		t := ctx.Scan.Peek()
		if text := t.String(); t.IsEOL() || !t.IsValue() && !negative.MatchString(text) {
			_, err := ctx.Scan.PopValue(ctx.Value.Name)
			return err
		}
		text := ctx.Scan.Pop().String()
		why := set(text, target)
		if why == "" {
			why = beyond(ctx.Value.Tag.Get("bound"), text, target)
		}
		if why != "" {
			return errors.New(why)
		}
		return nil
	}
}

// beyond says what is wrong with a number by the tag of its field: bound:">0" or
// bound:">=0". Without the tag nothing is.
func beyond(bound, text string, v reflect.Value) string {
	n := 0.0
	if v.CanFloat() {
		n = v.Float()
	} else if v.CanInt() {
		n = float64(v.Int())
	}
	switch {
	case bound == ">0" && !(n > 0): // nor NaN
		return fmt.Sprintf("%q is not above 0", text)
	case bound == ">=0" && !(n >= 0):
		return fmt.Sprintf("%q is below 0", text)
	}
	return ""
}

// negative is how a number or a duration below 0 begins; a flag does not.
var negative = regexp.MustCompile(`^-[0-9.]`)

// What the parser says of its own tokens, and what stands in its place for a user.
var plainer = []struct {
	said *regexp.Regexp
	says string
}{
	{regexp.MustCompile(`^(\S+): expected .* value but got "EOL" \(<EOL>\)$`), `$1 needs a value`},
	{regexp.MustCompile(`^(\S+): expected .* value but got "(.*)" \(.*\); perhaps try (.*)\?$`), `$1 needs a value, and "$2" looks like a flag; if it is meant, write $3`},
	{regexp.MustCompile(`^(\S+): expected .* value but got "(.*)" \(.*\)$`), `$1 needs a value, and "$2" looks like a flag`},
	{regexp.MustCompile(`^(\S+): expected "<key>=<value>" but got (.*)$`), `$1: $2 is not of the form NAME=VALUE`},
}

// plainly is a fault of the command line in a user's words.
func plainly(err error) string {
	for _, p := range plainer {
		if text := err.Error(); p.said.MatchString(text) {
			return p.said.ReplaceAllString(text, p.says)
		}
	}
	return err.Error()
}

// advice says where to read on: in the help of the verb, where it is known. A config that
// is an argument is meant for -c.
func advice(program string, c *kong.Context, err error) string {
	if parse, ok := errors.AsType[*kong.ParseError](err); ok {
		c = parse.Context
	}
	if c == nil || c.Selected() == nil {
		return fmt.Sprintf("Run %q, or %q, for the usage with examples.", program+" --help", program+" VERB --help")
	}
	help := fmt.Sprintf("Run %q for the usage with examples.", c.Selected().FullPath()+" --help")
	extra, ok := strings.CutPrefix(err.Error(), "unexpected argument ")
	config := slices.ContainsFunc(c.Flags(), func(f *kong.Flag) bool { return f.Name == "config" && f.Short == 'c' })
	if ok && config && (strings.HasSuffix(extra, ".yaml") || strings.HasSuffix(extra, ".yml")) {
		return "If it is the config, write -c " + extra + ". " + help
	}
	if group := c.Selected().Parent; ok && group != nil && group.Type == kong.CommandNode {
		var verbs []string
		for _, verb := range group.Children {
			verbs = append(verbs, verb.Name)
		}
		return fmt.Sprintf("%q is followed by %s. %s", group.FullPath(), strings.Join(verbs, ", "), help)
	}
	return help
}

// asHelp has "help VERB" say what "VERB --help" does, unless a verb is called help.
func asHelp(parser *kong.Kong, args []string) []string {
	if len(args) == 0 || args[0] != "help" {
		return args
	}
	for _, verb := range parser.Model.Children {
		if verb.Name == "help" {
			return args
		}
	}
	var verbs []string
	for _, a := range args[1:] {
		if !strings.HasPrefix(a, "-") {
			verbs = append(verbs, a)
		}
	}
	return append(verbs, "--help")
}
