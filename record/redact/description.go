package redact

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Description says by which rules and key a log was redacted, so that a reader knows
// its content and whether it can be compared. It contains no secret: a pattern, which
// may be one itself, is stored as a token, and so are secrets in names and paths.
type Description struct {
	// Format is "whittle.redaction/1".
	Format string `json:"format"`
	// Key distinguishes keys, and whether one is the one.
	Key string `json:"key"`
	// Defaults identifies what a version of whittle redacts by itself.
	Defaults string `json:"defaults"`
	// The rules in addition to the defaults; see Rules. Names are in the form in which
	// they are compared, all are sorted.
	Headers  []string `json:"headers,omitempty"`
	Fields   []string `json:"fields,omitempty"`
	Paths    []string `json:"paths,omitempty"`
	Patterns []string `json:"patterns,omitempty"`
	Keep     []string `json:"keep,omitempty"`
	// Rules is a digest of all that is above.
	Rules string `json:"rules"`
	// Cut says that there were too many rules to name, so no rule is named.
	Cut bool `json:"cut,omitempty"`
}

const descriptionFormat = "whittle.redaction/1"

// MaxDescription bounds a description as JSON, in bytes.
const MaxDescription = 32 << 10

// Describe says by which rules r works.
func (r *Redactor) Describe() Description {
	d := Description{Format: descriptionFormat, Defaults: defaults(), Key: r.fingerprint("key", "")}
	names := func(list []string) []string {
		return distinct(list, func(s string) string {
			if strings.HasPrefix(s, "shape-") {
				return s
			}
			return string(r.Text(normal(nil, []byte(s))))
		})
	}
	d.Headers, d.Fields, d.Keep = names(r.rules.Headers), names(r.rules.Fields), names(r.rules.Keep)
	d.Paths = distinct(r.rules.Paths, func(s string) string { return string(r.Text([]byte(s))) })
	d.Patterns = distinct(r.rules.Patterns, func(s string) string { return tokenPrefix + r.fingerprint("pattern", s) })
	all, _ := json.Marshal(d) // texts alone
	d.Rules = digest(all)
	return d
}

// distinct sorts what a list's members become, each once.
func distinct(list []string, of func(string) string) []string {
	var all []string
	for _, s := range list {
		all = append(all, of(s))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// fingerprint is a keyed hash of no secret's: those are hashed without the word.
func (r *Redactor) fingerprint(word, s string) string {
	sum := r.mac([]byte("whittle\x00" + word + "\x00" + s))
	return hex.EncodeToString(sum[:tokenDigits/2])
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:tokenDigits/2])
}

// manner counts the ways in which versions of whittle find a secret's end: as long as it
// is the same, so are tokens.
const manner = "5"

// defaults is a digest of the names that are secret without a rule.
var defaults = sync.OnceValue(func() string {
	all := slices.Sorted(maps.Keys(exactNames))
	return digest([]byte(strings.Join(slices.Concat(all, []string{"|"}, secretParts, []string{"|"}, secretEnds, []string{"|", manner}), " ")))
})

// JSON is the description as it stands in a log.
func (d Description) JSON() []byte {
	b, _ := json.Marshal(d) // texts alone
	if len(b) <= MaxDescription {
		return b
	}
	b, _ = json.Marshal(Description{Format: d.Format, Key: d.Key, Defaults: d.Defaults, Rules: d.Rules, Cut: true})
	return b
}

// ParseDescription reads one; false where it is none, or one of a form to come.
func ParseDescription(b []byte) (d Description, ok bool) {
	if len(b) > MaxDescription || json.Unmarshal(b, &d) != nil || d.Format != descriptionFormat {
		return Description{}, false
	}
	return d, true
}

// String is the rules in words, on one line.
func (d Description) String() string {
	var b bytes.Buffer
	b.WriteString("the defaults")
	for _, list := range []struct {
		what string
		of   []string
	}{{"headers", d.Headers}, {"fields", d.Fields}, {"paths", d.Paths}} {
		if len(list.of) > 0 {
			fmt.Fprintf(&b, ", %s %s", list.what, strings.Join(list.of, ", "))
		}
	}
	if n := len(d.Patterns); n > 0 {
		fmt.Fprintf(&b, ", %d of patterns", n)
	}
	if d.Cut {
		b.WriteString(", and more rules than are listed")
	}
	if len(d.Keep) > 0 {
		b.WriteString("; but not " + strings.Join(d.Keep, ", "))
	}
	return b.String()
}

// SameRules reports whether two descriptions are of the same rules under the same key.
func (d Description) SameRules(as Description) bool { return d.Rules == as.Rules }
