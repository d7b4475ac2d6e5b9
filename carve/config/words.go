package config

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"net/textproto"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"whittle"
	"whittle/internal/http1"
	"whittle/internal/units"
)

// The functions below read one written value each. Their errors say what was read and what to
// write instead; where it stands is the reader's to add.

// parsePercent reads "1%" or "0.1 %" as a fraction of 1.
func parsePercent(s string) (float64, error) {
	body, ok := strings.CutSuffix(s, "%")
	v, err := parseNumber(strings.TrimSpace(body))
	switch {
	case err != nil || !ok && v < 0:
		return 0, fmt.Errorf("%s is not a share: write it in percent, such as 1%%", quote(s))
	case !ok:
		return 0, fmt.Errorf("%s is not a share: write %s%% for %s in a hundred", quote(s), s, s)
	case v < 0 || v > 100:
		return 0, fmt.Errorf("%s is out of range: from 0%% to 100%%", quote(s))
	}
	return v / 100, nil
}

// ParseShare reads a part of the traffic as a config has it, with at most two decimals: 10%.
func ParseShare(s string) (whittle.Share, error) {
	f, err := parsePercent(s)
	bp := f * float64(whittle.All)
	if err == nil && math.Abs(bp-math.Round(bp)) > 1e-6 {
		err = fmt.Errorf("%s is too fine for a share: use steps of 0.01%%", quote(s))
	}
	return whittle.Share(math.Round(bp)), err
}

// ParseStep reads a share where only a percentage can stand, so that the sign can be left
// out.
func ParseStep(s string) (whittle.Share, error) {
	share, err := ParseShare(strings.TrimSuffix(s, "%") + "%")
	if err != nil || share == 0 {
		return 0, fmt.Errorf("%s is not a share in percent: write a number from 0.01 to 100, such as 5", quote(s))
	}
	return share, nil
}

// parseFraction reads "0.1" or "10%".
func parseFraction(s string, least, most float64) (float64, error) {
	parse := parseNumber
	if strings.HasSuffix(s, "%") {
		parse = parsePercent
	}
	v, err := parse(s)
	if err != nil || v < least || v > most {
		example := 0.1
		if least > example { // a confidence
			example = 0.99
		}
		return 0, fmt.Errorf("%s is not a number from %s to %s: write one such as %s", quote(s), plain(least), plain(most), plain(example))
	}
	return v, nil
}

// parseMultiple reads "1.5x".
func parseMultiple(s string) (float64, error) {
	body, ok := strings.CutSuffix(s, "x")
	v, err := parseNumber(strings.TrimSpace(body))
	switch {
	case err != nil || !ok:
		return 0, fmt.Errorf("%s is not a multiple: write 1.5x for one and a half times as much", quote(s))
	case v <= 1 || v > 1000:
		return 0, fmt.Errorf("%s is out of range: above 1x, and at most 1000x", quote(s))
	}
	return v, nil
}

// parseNumber reads a plain decimal number: no exponents, hex, Inf or NaN, none of which a
// config needs.
func parseNumber(s string) (float64, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || strings.Trim(s, "0123456789.-") != "" {
		return 0, fmt.Errorf("%s is not a number", quote(s))
	}
	return v, nil
}

// tooLong is a duration, however long.
var tooLong = regexp.MustCompile(`^-?([0-9]+(h|m|s|ms))+$`)

func parseDuration(s string, least, most time.Duration) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	v, plain := parseNumber(s)
	switch {
	case err != nil && plain == nil && v > 0:
		return 0, fmt.Errorf("%s has no unit: write %ss for seconds or %sms for milliseconds", quote(s), s, s)
	case err != nil && plain != nil && !tooLong.MatchString(s):
		return 0, fmt.Errorf("%s is not a duration: write 30s, 500ms, 2m or 24h", quote(s))
	case err != nil || d < least || d > most:
		return 0, fmt.Errorf("%s is out of range: from %s to %s", quote(s), units.Span(least), units.Span(most))
	}
	return d, nil
}

var sizeUnits = []struct {
	suffix string
	bytes  int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1}}

// ParseSize reads a size in bytes as a config has it: 64MiB, 256KiB, 512B.
func ParseSize(s string) (int64, error) { return parseSize(s, 1, 1<<50) }

func parseSize(s string, least, most int64) (int64, error) {
	for _, u := range sizeUnits {
		body, ok := strings.CutSuffix(s, u.suffix)
		if v, err := parseNumber(strings.TrimSpace(body)); ok && err == nil {
			if v *= float64(u.bytes); v < float64(least) || v > float64(most) {
				return 0, fmt.Errorf("%s is out of range: from %s to %s", quote(s), size(least), size(most))
			}
			return int64(v), nil
		}
	}
	return 0, fmt.Errorf("%s is not a size: write it with a unit, such as 64MiB, 256KiB or 512B; it is from %s to %s", quote(s), size(least), size(most))
}

func parseCount(s string, least, most int) (int, error) {
	v, err := strconv.Atoi(s)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("%s is not a whole number from %d to %d", quote(s), least, most)
	case len(s) > 1 && s[0] == '0':
		return 0, fmt.Errorf("%s begins with 0, which some read as octal: write %d", quote(s), v)
	case err != nil || v < least || v > most:
		return 0, fmt.Errorf("%s is out of range: from %d to %d", quote(s), least, most)
	}
	return v, nil
}

func parseFlag(s string) (bool, error) {
	if s != "true" && s != "false" {
		return false, fmt.Errorf("%s is neither true nor false", quote(s))
	}
	return s == "true", nil
}

// oneOf reads one of some words.
func oneOf[T ~string](s string, all []T) (T, error) {
	if slices.Contains(all, T(s)) {
		return T(s), nil
	}
	list := texts(all)
	if _, err := strconv.Atoi(s); err != nil { // no number is a misspelling of another
		if near := closest(s, list); near != "" {
			return "", fmt.Errorf("%s is unknown; did you mean %s?", quote(s), near)
		}
	}
	return "", fmt.Errorf("%s is unknown; write one of: %s", quote(s), strings.Join(list, ", "))
}

// filled takes any text but an empty one.
func filled(s string) (string, error) {
	if s == "" {
		return "", errors.New("is empty; leave the field out for its default")
	}
	return s, nil
}

// Short names for commands, metrics and sentences; names of services and their methods.
var (
	nameShape  = shaped("letters, digits, dots, dashes and underscores", "qa-1", `^[A-Za-z0-9._-]{1,60}$`)
	fleetShape = shaped("up to 64 letters, digits, `-` and `_`", "gateway-1", `^[A-Za-z0-9_-]{1,64}$`)
	rpcService = shaped("a service's name", "shop.v1.Cart", `^[A-Za-z0-9_.]{1,253}$`)
	rpcMethod  = shaped("`package.Service/Method`", "shop.v1.Cart/Add", `^/?[^/\s]+/[^/\s]+$`)
	rpcPrefix  = shaped("a path before a method's, `/` for none", "/twirp", `^/[^?#\s]*$`)
	pathShape  = shaped("a JSON path", "$.user.id", `^\$([.\[]|$)`)
)

// plainLetters are those of every registered method, and of a host's name. A token may have
// others, but "GET|POST" is one as well, and no request has that method.
const plainLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// isOdd reports whether a character may pass for another one, or for none.
func isOdd(c rune) bool { return c >= 0x80 || isUnseen(c) }

// isUnseen reports whether a character is invisible.
func isUnseen(c rune) bool { return unicode.IsControl(c) || unicode.Is(unicode.Cf, c) }

// shellVariable is one without braces.
var shellVariable = regexp.MustCompile(`(^|/)\$[A-Za-z_]`)

// pathFault refuses paths that a shell would have expanded.
func pathFault(s string) error {
	switch {
	case s == "":
		return errors.New("is empty; leave the field out for its default")
	case s == "~" || strings.HasPrefix(s, "~/") || shellVariable.MatchString(s):
		return fmt.Errorf("%s: no shell reads this; an environment variable is written ${NAME}, a home folder ${HOME}", quote(s))
	case strings.ContainsFunc(s, unicode.IsControl):
		return fmt.Errorf("%s is not a path: it has a control character", quote(s))
	}
	return nil
}

// Fields of requests by what they are not for.
var (
	// unseen are taken out of a request's header as it is read.
	unseen = []string{"Host", "Transfer-Encoding", "Expect"}
	// ofConnections never reach an upstream as they are given: they belong to a connection, or
	// are written anew.
	ofConnections = append([]string{
		"Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authorization", "Te", "Trailer", "Upgrade", "Content-Length",
	}, unseen...)
	// claimed are the headers of proxies from which `address` takes the client.
	claimed = []string{"Forwarded", "X-Forwarded-For"}
)

// sticky is what tells users apart.
func sticky(dst *whittle.Sticky) value {
	return scalar(dst, matching("`address`, `header:NAME` or `cookie:NAME`", `^address$|^(header|cookie): *[^\s:]+ *$`), parseSticky, func(s whittle.Sticky) string {
		return strings.TrimSuffix(s.By+":"+s.Name, ":")
	})
}

// parseSticky reads "header:X-User", "cookie:sid" or "address".
func parseSticky(s string) (whittle.Sticky, error) {
	by, name, _ := strings.Cut(s, ":")
	name = strings.TrimSpace(name)
	if s == "address" {
		return whittle.Sticky{By: "address"}, nil
	}
	if by != "header" && by != "cookie" || !http1.IsToken(name) {
		return whittle.Sticky{}, fmt.Errorf("%s does not say what keeps a user on one side: write header:NAME, cookie:NAME or address", quote(s))
	}
	if by == "header" {
		switch name = textproto.CanonicalMIMEHeaderKey(name); {
		case slices.Contains(ofConnections, name):
			return whittle.Sticky{}, fmt.Errorf("%s: %s belongs to a connection or a request, and identifies no user", quote(s), name)
		case name == "Cookie":
			return whittle.Sticky{}, fmt.Errorf("%s: all cookies together change whenever one of them does: write cookie:NAME", quote(s))
		case slices.Contains(claimed, name):
			return whittle.Sticky{}, fmt.Errorf("%s: anybody can put any address into it: write address, and the proxies in front under forwarded.trust", quote(s))
		}
	}
	return whittle.Sticky{By: by, Name: name}, nil
}

// quote shows a value in a message, at a length that leaves the message legible.
func quote(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		return strconv.Quote(string(r[:most])) + "…"
	}
	return strconv.Quote(s)
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

// plain is a number without an exponent.
func plain(v float64) string {
	return strings.TrimRight(strings.TrimRight(strconv.FormatFloat(v, 'f', 15, 64), "0"), ".")
}

func percent(v float64) string { return number(v*100) + "%" }

// size is parseSize's inverse for whole binary units, and exact bytes otherwise.
func size(n int64) string { return units.Bytes(n).String() }

// texts are words of a type of their own as texts.
func texts[T ~string](words []T) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = string(w)
	}
	return out
}

func sortedKeys[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }

// closest gives the word that was probably meant, or "": the one at the smallest edit
// distance, where that is at most a third of what was written.
func closest(s string, words []string) string {
	if len(s) > 64 {
		return ""
	}
	best, found := len(s)/3+1, ""
	for _, w := range words {
		if d := distance(strings.ToLower(s), strings.ToLower(w)); d < best || d == best && found == "" && d <= len(s)/3 {
			best, found = d, w
		}
	}
	return found
}

// distance counts the insertions, deletions, replacements and swaps of neighbours between two
// words (Damerau's restricted edit distance).
func distance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}

var variable = regexp.MustCompile(`^[A-Za-z_]\w*$`)

// expand replaces ${NAME} by an environment variable, ${NAME:-text} by text where that is
// unset or empty, and $${ by ${.
func expand(s string, env func(string) (string, bool)) (string, error) {
	var b strings.Builder
	for {
		i := strings.Index(s, "${")
		if i < 0 {
			b.WriteString(s)
			return b.String(), nil
		}
		if i > 0 && s[i-1] == '$' {
			b.WriteString(s[:i-1] + "${")
			s = s[i+2:]
			continue
		}
		name, _, closed := strings.Cut(s[i+2:], "}")
		after := s[i+2+min(len(name)+1, len(s[i+2:])):]
		name, fallback, hasFallback := strings.Cut(name, ":-")
		if !closed || !variable.MatchString(name) || strings.Contains(fallback, "${") {
			return "", errors.New("${ begins no environment variable; write ${NAME} or ${NAME:-default}, or $${ for the signs themselves")
		}
		v, _ := env(name)
		if v == "" && !hasFallback {
			return "", fmt.Errorf("the environment variable %s is not set; set it, or write ${%s:-default}", name, name)
		}
		if v == "" {
			v = fallback
		}
		b.WriteString(s[:i] + v)
		s = after
	}
}
