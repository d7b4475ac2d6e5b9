package config

import (
	"errors"
	"fmt"
	"math"
	"net/textproto"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"whittle"
	"whittle/internal/http1"
	"whittle/internal/units"
)

// The functions below read one written value each. Their errors say what was
// read and what to write instead; where it stands is the reader's to add.

// parsePercent reads "1%" or "0.1 %" as a fraction of 1.
func parsePercent(s string) (float64, error) {
	body, ok := strings.CutSuffix(s, "%")
	v, err := parseNumber(strings.TrimSpace(body))
	if err != nil {
		return 0, fmt.Errorf("%s is not a share: write it in percent, such as 1%%", quote(s))
	}
	if !ok {
		if v < 0 {
			return 0, fmt.Errorf("%s is not a share: write it in percent, such as 1%%", quote(s))
		}
		if v > 0 && v < 1 {
			return 0, fmt.Errorf("%s is not a share: write %s%% for %s in a hundred, or %s%% for %s in a hundred",
				quote(s), s, s, number(v*100), number(v*100))
		}
		return 0, fmt.Errorf("%s is not a share: write %s%% for %s in a hundred", quote(s), s, s)
	}
	switch {
	case v < 0:
		return 0, fmt.Errorf("%s is less than nothing: a share is from 0%% to 100%%, such as 1%%", quote(s))
	case v > 100:
		return 0, fmt.Errorf("%s is more than all: write 100%% at most", quote(s))
	}
	return v / 100, nil
}

// parseShare reads a percentage with at most two decimals; inPercent lets the
// sign be left out, where a list says that all of it is percent.
func parseShare(s string, inPercent bool) (whittle.Share, error) {
	text := s
	if inPercent && !strings.HasSuffix(text, "%") {
		text += "%"
	}
	f, err := parsePercent(text)
	if err != nil && inPercent {
		return 0, fmt.Errorf("%s is not a share in percent: write a number from 0.01 to 100, such as 5", quote(s))
	}
	if err != nil {
		return 0, err
	}
	bp := f * float64(whittle.All)
	if math.Abs(bp-math.Round(bp)) > 1e-6 {
		return 0, fmt.Errorf("%s is finer than a share can be: use steps of 0.01%%", quote(s))
	}
	return whittle.Share(math.Round(bp)), nil
}

// parseFraction reads "0.1" or "10%" as a number from 0 to 1.
func parseFraction(s string) (float64, error) {
	if strings.HasSuffix(s, "%") {
		return parsePercent(s)
	}
	v, err := parseNumber(s)
	if err != nil || v < 0 || v > 1 {
		return 0, fmt.Errorf("%s is not a number from 0 to 1: write 0.1 or 10%%", quote(s))
	}
	return v, nil
}

// parseMultiple reads "1.5x".
func parseMultiple(s string) (float64, error) {
	body, ok := strings.CutSuffix(s, "x")
	v, err := parseNumber(strings.TrimSpace(body))
	if p, is := strings.CutSuffix(s, "%"); is {
		if p, bad := parseNumber(strings.TrimSpace(p)); bad == nil && p > 100 {
			return 0, fmt.Errorf("%s is not a multiple: write %sx", quote(s), number(p/100))
		}
	}
	switch {
	case err != nil:
		return 0, fmt.Errorf("%s is not a multiple: write 1.5x for one and a half times as much", quote(s))
	case !ok:
		return 0, fmt.Errorf("%s is not a multiple: write %sx for %s times as much", quote(s), s, s)
	case v <= 1:
		return 0, fmt.Errorf("%s is not above 1x, so it could never be kept: write 1.5x for one and a half times as much", quote(s))
	case v > 1000:
		return 0, fmt.Errorf("%s is too large: at most 1000x", quote(s))
	}
	return v, nil
}

// parseNumber reads a plain decimal number: no exponents, hex, Inf or NaN, none
// of which a config needs.
func parseNumber(s string) (float64, error) {
	if s == "" || strings.Trim(s, "0123456789.-") != "" {
		return 0, fmt.Errorf("%s is not a number", quote(s))
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0, fmt.Errorf("%s is not a number", quote(s))
	}
	return v, nil
}

func parseDuration(s string, least, most time.Duration) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil && !tooLong.MatchString(s) {
		if v, plain := parseNumber(s); plain == nil && v > 0 {
			return 0, fmt.Errorf("%s has no unit: write %ss for seconds or %sms for milliseconds", quote(s), s, s)
		} else if plain == nil {
			return 0, fmt.Errorf("%s is out of range: from %s to %s", quote(s), units.Span(least), units.Span(most))
		}
		return 0, fmt.Errorf("%s is not a duration: write %s", quote(s), plainDuration(s, least, most))
	}
	if err != nil || d < least || d > most {
		return 0, fmt.Errorf("%s is out of range: from %s to %s", quote(s), units.Span(least), units.Span(most))
	}
	return d, nil
}

// spoken are the units that people write, and what they are here.
var spoken = map[string]string{
	"sec": "s", "secs": "s", "second": "s", "seconds": "s", "s": "s", "min": "m", "mins": "m", "minute": "m", "minutes": "m", "m": "m",
	"hr": "h", "hrs": "h", "hour": "h", "hours": "h", "h": "h", "ms": "ms", "msec": "ms", "millis": "ms", "milliseconds": "ms",
}

// plainDuration says how a duration is written that stands in other words: 7d, 5 sec, 1:30.
func plainDuration(s string, least, most time.Duration) string {
	digits := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyz ")
	unit := strings.TrimSpace(s[len(digits):])
	if n, err := strconv.Atoi(digits); err == nil && n > 0 && n < 100_000 {
		plain := digits + spoken[unit]
		if days := map[string]int{"d": 1, "day": 1, "days": 1, "w": 7, "week": 7, "weeks": 7}[unit]; days > 0 {
			plain = fmt.Sprintf("%dh", 24*days*n)
		}
		if d, err := time.ParseDuration(plain); err == nil && d >= least && d <= most {
			return plain
		}
	}
	var a, b int
	if n, err := fmt.Sscanf(s, "%d:%d", &a, &b); n == 2 && err == nil && a >= 0 && b >= 0 && s == fmt.Sprintf("%d:%02d", a, b) {
		return fmt.Sprintf("%dm%ds, or %dh%dm", a, b, a, b)
	}
	return "30s, 500ms, 2m or 24h"
}

// tooLong is a duration, however long.
var tooLong = regexp.MustCompile(`^-?([0-9]+(h|m|s|ms))+$`)

var sizeUnits = []struct {
	suffix string
	bytes  int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1}}

// parseSize reads "64MiB", "256 KiB", "1.5GiB" or "512B" as bytes.
func parseSize(s string, least, most int64) (int64, error) {
	for _, u := range sizeUnits {
		body, ok := strings.CutSuffix(s, u.suffix)
		if !ok {
			continue
		}
		v, err := parseNumber(strings.TrimSpace(body))
		if err != nil {
			break
		}
		if v *= float64(u.bytes); v < float64(least) || v > float64(most) {
			return 0, fmt.Errorf("%s is out of range: from %s to %s", quote(s), size(least), size(most))
		}
		return int64(v), nil
	}
	if v, err := parseNumber(s); err == nil {
		switch {
		case v <= 0:
			return 0, fmt.Errorf("%s is out of range: from %s to %s", quote(s), size(least), size(most))
		case v < float64(least):
			return 0, fmt.Errorf("%s has no unit: write %s%s; it is from %s to %s", quote(s), s, unitFor(v, least), size(least), size(most))
		}
		return 0, fmt.Errorf("%s has no unit: write %sB for bytes, or KiB, MiB or GiB", quote(s), s)
	}
	if body := strings.TrimRight(s, "KMGTkmgtbBi"); len(body) < len(s) {
		if _, err := parseNumber(strings.TrimSpace(body)); err == nil { // 64Ki, 64KB, 64m
			unit := strings.ToUpper(s[len(body) : len(body)+1])
			return 0, fmt.Errorf("%s is not a size: write %s%siB", quote(s), strings.TrimSpace(body), unit)
		}
	}
	return 0, fmt.Errorf("%s is not a size: write 64MiB, 256KiB or 512B", quote(s))
}

// unitFor is the smallest unit in which so many are enough.
func unitFor(v float64, least int64) string {
	for _, u := range sizeUnits[:3] {
		if v*float64(u.bytes) >= float64(least) {
			return u.suffix
		}
	}
	return "TiB"
}

func parseCount(s string, least, most int) (int, error) {
	v, err := strconv.Atoi(s)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, fmt.Errorf("%s is not a whole number%s", quote(s), plainCount(s))
	}
	if len(s) > 1 && s[0] == '0' {
		return 0, fmt.Errorf("%s begins with 0, which some read as octal: write %d", quote(s), v)
	}
	if err != nil || v < least || v > most {
		return 0, fmt.Errorf("%s is out of range: from %d to %d", quote(s), least, most)
	}
	return v, nil
}

// plainCount says how a number is written that stands in another notation; "": it is none.
func plainCount(s string) string {
	v, err := strconv.ParseInt(s, 0, 64) // 0x64, 0o144, 1_000
	if f, plain := strconv.ParseFloat(s, 64); err != nil && plain == nil && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		v, err = int64(f), nil // 1e3, 250.0
	}
	if err != nil {
		return ""
	}
	return fmt.Sprintf(": write %d", v)
}

// claimed are the headers of proxies from which `address` takes the client. X-Real-Ip is
// not among them.
var claimed = []string{"Forwarded", "X-Forwarded-For"}

// parseSticky reads "header:X-User", "cookie:sid" or "address".
func parseSticky(s string) (whittle.Sticky, error) {
	by, name, named := strings.Cut(s, ":")
	name = strings.TrimSpace(name)
	switch {
	case s == "address":
		return whittle.Sticky{By: "address"}, nil
	case named && by == "header" && slices.Contains(ofConnections, textproto.CanonicalMIMEHeaderKey(name)):
		return whittle.Sticky{}, fmt.Errorf("%s: %s belongs to a connection or a request and says of no user who it is: write header:NAME with another, cookie:NAME or address", quote(s), name)
	case named && by == "header" && textproto.CanonicalMIMEHeaderKey(name) == "Cookie":
		return whittle.Sticky{}, fmt.Errorf("%s: all cookies together change whenever one of them does: write cookie:NAME", quote(s))
	case named && by == "header" && slices.Contains(claimed, textproto.CanonicalMIMEHeaderKey(name)):
		return whittle.Sticky{}, fmt.Errorf("%s: anybody may claim any address in it: write address, and the proxies in front under forwarded.trust", quote(s))
	case named && (by == "header" || by == "cookie") && http1.IsToken(name):
		return whittle.Sticky{By: by, Name: name}, nil
	case by == "header" || by == "cookie":
		return whittle.Sticky{}, fmt.Errorf("%s names no %s: write %s:NAME", quote(s), by, by)
	}
	return whittle.Sticky{}, fmt.Errorf("%s does not say what keeps a user on one side: write header:NAME, cookie:NAME or address", quote(s))
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

func percent(v float64) string { return number(v*100) + "%" }

// size is parseSize's inverse for whole binary units, and exact bytes otherwise.
func size(n int64) string { return units.Bytes(n).String() }

// ParseSize reads a size in bytes as a config has it: 64MiB, 256KiB, 512B.
func ParseSize(s string) (int64, error) { return parseSize(s, 1, 1<<50) }

// ParseShare reads a part of the traffic as a config has it: 10%.
func ParseShare(s string) (whittle.Share, error) { return parseShare(s, false) }

// closest gives the word that was probably meant, or "": the one at the
// smallest edit distance, where that is at most a third of what was written.
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

// distance counts the insertions, deletions, replacements and swaps of
// neighbours between two words (Damerau's restricted edit distance).
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

// expand replaces ${NAME} by an environment variable, ${NAME:-text} by text
// where that is unset or empty, and $${ by ${.
func expand(s string, env func(string) (string, bool)) (string, error) {
	if !strings.Contains(s, "${") {
		return s, nil
	}
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
		end := strings.IndexByte(s[i:], '}')
		if end < 0 {
			return "", errors.New("${ is not closed; write ${NAME}, or $${ for the signs themselves")
		}
		name, fallback, hasFallback := strings.Cut(s[i+2:i+end], ":-")
		if strings.Contains(fallback, "${") {
			return "", errors.New("a default has no variable in it; write one, as in ${NAME:-default}")
		}
		if !variable.MatchString(name) {
			return "", fmt.Errorf("%s is not the name of an environment variable; write ${NAME} or ${NAME:-default}, or $${ for the signs themselves", quote(name))
		}
		v, _ := env(name)
		if v == "" {
			if !hasFallback {
				return "", fmt.Errorf("the environment variable %s is not set; set it, or write ${%s:-default}", name, name)
			}
			v = fallback
		}
		b.WriteString(s[:i] + v)
		s = s[i+end+1:]
	}
}

var variable = regexp.MustCompile(`^[A-Za-z_]\w*$`)
