package recorder

import (
	"errors"
	"regexp"
	"slices"

	"whittle"
	"whittle/record/redact"
)

// Flags are the flags that say what is secret in addition to the defaults.
type Flags struct {
	RedactHeader  []string `group:"What is secret too" name:"redact-header" sep:"none" placeholder:"NAME" help:"A header. Repeatable."`
	RedactField   []string `group:"What is secret too" name:"redact-field" sep:"none" placeholder:"NAME" help:"A JSON member, form field, query parameter, cookie or XML element. Repeatable."`
	RedactPath    []string `group:"What is secret too" name:"redact-path" sep:"none" placeholder:"PATH" help:"A JSON path, such as '$.user.phone'. Repeatable."`
	RedactPattern []string `group:"What is secret too" name:"redact-pattern" sep:"none" placeholder:"REGEXP" help:"What the first group matches, or all of a match. Repeatable."`
	RedactKeep    []string `group:"What is secret too" name:"redact-keep" sep:"none" placeholder:"NAME" help:"A name that is not a secret, or shape-email, -card, -token or -other. Repeatable."`
}

// Redactor makes the redactor of a log, whose key lies next to its folder.
func (r *Flags) Redactor(dir string) (*redact.Redactor, error) {
	key, err := Key(KeyPath(dir))
	if err != nil {
		return nil, err
	}
	made, err := redact.New(r.Rules(redact.Rules{}), key)
	return made, OfFlag(err)
}

// Rules adds the flags to what a config says.
func (r *Flags) Rules(of redact.Rules) redact.Rules {
	return redact.Rules{
		Headers: slices.Concat(r.RedactHeader, of.Headers), Fields: slices.Concat(r.RedactField, of.Fields),
		Paths: slices.Concat(r.RedactPath, of.Paths), Patterns: slices.Concat(r.RedactPattern, of.Patterns), Keep: slices.Concat(r.RedactKeep, of.Keep),
	}
}

// OfFlag names the flag that a wrong rule came from.
func OfFlag(err error) error {
	e, ok := errors.AsType[*whittle.Error](err)
	if !ok {
		return err
	}
	named := *e
	if m := ruleField.FindStringSubmatch(e.Field); m != nil {
		named.Message = "--redact-" + m[1] + ": " + e.Message
	}
	return &named
}

var ruleField = regexp.MustCompile(`^(header|field|path|pattern|keep)s?\[`)
