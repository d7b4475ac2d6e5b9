package main

import (
	"errors"
	"regexp"
	"slices"

	"whittle"
	"whittle/record/recorder"
	"whittle/record/redact"
)

// redacting are the flags that say what is secret beside the defaults.
type redacting struct {
	RedactHeader  []string `group:"What is secret beside the defaults" name:"redact-header" sep:"none" placeholder:"NAME" help:"A header. Repeatable."`
	RedactField   []string `group:"What is secret beside the defaults" name:"redact-field" sep:"none" placeholder:"NAME" help:"A JSON member, form field, query parameter, cookie or XML element. Repeatable."`
	RedactPath    []string `group:"What is secret beside the defaults" name:"redact-path" sep:"none" placeholder:"PATH" help:"A JSON path, such as '$.user.phone'. Repeatable."`
	RedactPattern []string `group:"What is secret beside the defaults" name:"redact-pattern" sep:"none" placeholder:"REGEXP" help:"What the first group matches, or all of a match. Repeatable."`
	RedactKeep    []string `group:"What is secret beside the defaults" name:"redact-keep" sep:"none" placeholder:"NAME" help:"A name that is no secret after all, or shape-email, shape-card, shape-token, shape-other. Repeatable."`
}

// redactor makes the redactor of a log, whose key lies beside its folder.
func (r *redacting) redactor(dir string) (*redact.Redactor, error) {
	key, err := recorder.Key(recorder.KeyPath(dir))
	if err != nil {
		return nil, err
	}
	return newRedactor(r.rules(redact.Rules{}), key)
}

// rules adds the flags to what a config says.
func (r *redacting) rules(of redact.Rules) redact.Rules {
	return redact.Rules{
		Headers: slices.Concat(r.RedactHeader, of.Headers), Fields: slices.Concat(r.RedactField, of.Fields),
		Paths: slices.Concat(r.RedactPath, of.Paths), Patterns: slices.Concat(r.RedactPattern, of.Patterns), Keep: slices.Concat(r.RedactKeep, of.Keep),
	}
}

// newRedactor names the flag where a rule of one is wrong.
func newRedactor(rules redact.Rules, key []byte) (*redact.Redactor, error) {
	made, err := redact.New(rules, key)
	return made, ofFlag(err)
}

func ofFlag(err error) error {
	e, ok := errors.AsType[*whittle.Error](err)
	if !ok {
		return err
	}
	named := *e
	named.Message = flagOf(e.Field) + e.Message
	return &named
}

var ruleField = regexp.MustCompile(`^(header|field|path|pattern|keep)s?\[`)

// flagOf names the flag that a rule came from.
func flagOf(field string) string {
	if m := ruleField.FindStringSubmatch(field); m != nil {
		return "--redact-" + m[1] + ": "
	}
	return ""
}
