package replay

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"whittle"
	"whittle/record/journal"
	"whittle/record/redact"
)

// redacted is a log that knows the rules by which it was redacted.
type redacted interface {
	// redaction returns a description for each part of the log that was written
	// under other rules. is says whether the log was redacted at all, as far as
	// is known.
	redaction() (by []redact.Description, is bool, err error)
}

// RedactLike redacts the candidate's responses as the recording redacted the
// monolith's: by the same rules, under the log's key. Where the key is missing (nil)
// or is not the log's, or the rules are not, responses with redaction tokens are
// not compared, and the report says so; what is shown is redacted all the same. Errors are redact.New's, and those of
// reading the log.
func (o *Options) RedactLike(log Log, rules redact.Rules, key []byte) error {
	known := key != nil
	if !known {
		key = redact.NewKey()
	}
	by, err := redact.New(rules, key)
	if err != nil {
		return err
	}
	o.Show = by
	parts, is, err := partsOf(log)
	if err != nil {
		return err
	}
	o.HasTokens = is
	if !known {
		return nil
	}
	mine := by.Describe()
	others := 0
	for i := range parts {
		if parts[i].Key != mine.Key {
			others++
		}
	}
	if others > 0 {
		o.Notes = append(o.Notes, fmt.Sprintf("the key at hand is not the one by which %s redacted, so responses with tokens are not compared: give the log's own with --redact-key FILE",
			map[bool]string{true: "the log was", false: fmt.Sprintf("%d of the log's %d parts were", others, len(parts))}[others == len(parts)]))
		return nil
	}
	for i := range parts {
		if !parts[i].SameRules(mine) {
			o.Notes = append(o.Notes, fmt.Sprintf("the log was redacted by other rules than those in force: %s. "+
				"Responses with tokens are not compared: give the log's rules by --redact-field and the like, or in the config", &parts[i]))
			return nil
		}
	}
	o.Redact = by.Response
	return nil
}

func partsOf(log Log) ([]redact.Description, bool, error) {
	if l, ok := log.(redacted); ok {
		return l.redaction()
	}
	return nil, false, nil
}

func (l *journalLog) redaction() (by []redact.Description, is bool, err error) {
	all, err := journal.Descriptions(l.path)
	slices.SortFunc(all, bytes.Compare)
	for _, about := range slices.CompactFunc(all, bytes.Equal) {
		if d, ok := redact.ParseDescription(about); ok {
			by = append(by, d)
		}
	}
	return by, err == nil, err
}

// compareKnownHeaders restricts the comparison to the headers that the monolith
// sent in the route's part of the log. Without the key,
// headers that contain redaction tokens are not compared, and are returned as
// hidden (a cookie's value is never compared). In an archive, cookies are not compared where it has none, since browsers omit
// them, and no headers are where a response has none at all. This is decided
// once for the whole replay: deciding it for each exchange would make
// differences of what both sides do by chance.
func (o *Options) compareKnownHeaders(seen *routeSurvey, c *whittle.Comparison) (hidden []string) {
	if !o.HasTokens && seen.bare {
		c.AllHeaders, c.Headers = false, nil
		return nil
	}
	var out []string
	if !o.HasTokens && !seen.headers["Set-Cookie"].seen {
		out = append(out, "Set-Cookie")
	}
	for _, name := range slices.Sorted(maps.Keys(seen.headers)) {
		if o.Redact == nil && name != "Set-Cookie" && seen.headers[name].tokens {
			hidden = append(hidden, name)
		}
	}
	out = append(out, hidden...)
	c.ExceptHeaders = append(slices.Clone(c.ExceptHeaders), out...)
	c.Headers = slices.DeleteFunc(slices.Clone(c.Headers), func(name string) bool { return slices.Contains(out, name) })
	return hidden
}

// hides reports whether a recorded response has redaction tokens for which the
// candidate's response has no counterpart, because the key is missing. A number
// that may be a token counts as one where the log is redacted and the
// candidate's response does not contain it.
func (o *Options) hides(recorded, response []byte) bool {
	switch {
	case o.Redact != nil:
		return false
	case bytes.Contains(recorded, []byte(tokenMark)):
		return true
	case !o.HasTokens:
		return false
	}
	return slices.ContainsFunc(redact.NumberTokens(recorded), func(n []byte) bool { return !bytes.Contains(response, n) })
}

// hideCookieValues gives all cookies of an exchange the same value. A recorded
// cookie's value is a redaction token, and without the key the candidate's value
// has no token to compare with; names and attributes are still compared. The
// headers are copied, since the log's entries share them.
func hideCookieValues(x *whittle.Exchange) {
	hide := func(h whittle.Header) whittle.Header {
		lines := slices.Clone(h["Set-Cookie"])
		if len(lines) == 0 {
			return h
		}
		for i, line := range lines {
			cookie, attributes, more := strings.Cut(line, ";")
			name, value, _ := strings.Cut(cookie, "=")
			if value == "" {
				continue
			}
			if lines[i] = name + "=" + tokenMark; more {
				lines[i] += ";" + attributes
			}
		}
		h = maps.Clone(h)
		h["Set-Cookie"] = lines
		return h
	}
	x.Monolith.Header, x.Candidate.Header = hide(x.Monolith.Header), hide(x.Candidate.Header)
	if x.Repeat != nil {
		again := *x.Repeat
		again.Header = hide(again.Header)
		x.Repeat = &again
	}
}
