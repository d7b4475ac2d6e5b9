package cause

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/unicode/norm"

	"whittle/carve/compare/owner"
)

// textMost bounds the texts that are looked at, in bytes.
const textMost = 16 << 10

// textCauses are the causes of two texts that are not the same.
func textCauses(a, b string) (keys []string) {
	if a == b || len(a) > textMost || len(b) > textMost {
		return nil
	}
	if keys, ok := timeCauses(a, b); ok && len(keys) > 0 {
		return keys
	}
	if keys = figureCauses(a, b); calculated(a) && calculated(b) && len(keys) > 0 {
		return keys
	}
	for _, c := range rewritings {
		switch {
		case c.do(a) == b:
			keys = append(keys, c.there)
		case c.do(b) == a && c.back != "":
			keys = append(keys, c.back)
		}
	}
	for _, c := range foldings {
		if x, y := c.do(a), c.do(b); x == y && x != "" {
			keys = append(keys, c.key)
		}
	}
	keys = append(keys, encodingCauses(a, b)...)
	keys = append(keys, urlCauses(a, b)...)
	return append(keys, partCauses(a, b)...)
}

// rewriting turns one text into another. there is the cause where the candidate
// has what do makes of the monolith's text, back where it is the other way round.
type rewriting struct {
	do          func(string) string
	there, back string
}

var tag = regexp.MustCompile(`<[^<>]*>`)

var rewritings = []rewriting{
	{strings.ToLower, "lower", ""},
	{strings.ToUpper, "upper", ""},
	{strings.TrimSpace, "trimmed", "padded"},
	{func(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }, "crlf lf", "lf crlf"},
	{norm.NFD.String, "nfd", "nfc"},
	{html.EscapeString, "html", "no html"},
	{html.UnescapeString, "no html", "html"},
	{func(s string) string { return tag.ReplaceAllString(s, "") }, "tags cut", ""},
	{url.QueryEscape, "url", "no url"},
	{url.PathEscape, "url", "no url"},
	{twiceUTF8, "twice UTF-8", "once UTF-8"},
	{latin1, "latin1", "not latin1"},
	{func(s string) string { return strings.ReplaceAll(s, "/", `\/`) }, "escaped", "unescaped"},
	{asciiJSON, "escaped", "unescaped"},
	{jsonText, "escaped", "unescaped"},
	{withoutAccents, "accents", ""},
}

// folding takes away what two texts may differ in.
type folding struct {
	do  func(string) string
	key string
}

var foldings = []folding{
	{strings.ToLower, "capitals"},
	{func(s string) string { return strings.Join(strings.FieldsFunc(strings.ToLower(s), joiner), "") }, "words joined"},
	{func(s string) string { return strings.Join(strings.Fields(s), " ") }, "spaces"},
	{func(s string) string { return strings.ReplaceAll(s, "\u00a0", " ") }, "nbsp"},
	{withoutInvisible, "invisible"},
	{norm.NFKC.String, "unicode form"},
	{html.UnescapeString, "html form"},
	{typography.Replace, "quotes"},
	{unpadded, "base64"},
	{bareUUID, "uuid"},
	{func(s string) string { return strings.TrimSuffix(s, "/") }, "slash"},
}

func joiner(r rune) bool { return r == '_' || r == '-' || r == ' ' || r == '.' }

func withoutInvisible(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) || r == '\ufeff' {
			return -1
		}
		return r
	}, s)
}

// twiceUTF8 reads UTF-8 as Windows-1252, as browsers do, or as Latin-1 where it
// has a byte that is not in that.
func twiceUTF8(s string) string {
	if out, err := charmap.Windows1252.NewDecoder().String(s); err == nil && !strings.ContainsRune(out, utf8.RuneError) {
		return out
	}
	out, _ := charmap.ISO8859_1.NewDecoder().String(s)
	return out
}

// latin1 is a text in Latin-1; the text itself where it cannot be, or is UTF-8 as well.
func latin1(s string) string {
	out, err := charmap.Windows1252.NewEncoder().String(s)
	if err != nil || !utf8.ValidString(s) || utf8.ValidString(out) {
		return s
	}
	return out
}

// asciiJSON writes what is not ASCII as \u00e9.
func asciiJSON(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r < utf8.RuneSelf {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// jsonText is a text as it stands in JSON, without its quotes.
func jsonText(s string) string {
	b, err := json.Marshal(s)
	if err != nil || len(b) < 2 {
		return s
	}
	return string(b[1 : len(b)-1])
}

func withoutAccents(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFD.String(s))
}

var typography = strings.NewReplacer("’", "'", "‘", "'", "“", `"`, "”", `"`, "„", `"`, "–", "-", "—", "-", "−", "-", "…", "...")

// Replacers are made once: they are made ready when they are first used, at a cost.
var (
	standardBase64 = strings.NewReplacer("-", "+", "_", "/")
	bare           = strings.NewReplacer("-", "", "{", "", "}", "")
	separators     = strings.NewReplacer(",", "", "'", "", " ", "", "\u00a0", "", "\u202f", "", "_", "")
)

// unpadded is base64 in one alphabet, without padding; empty where it is none.
func unpadded(s string) string {
	s = strings.TrimRight(s, "=")
	if len(s) < 8 || strings.Contains(s, " ") {
		return ""
	}
	plain := standardBase64.Replace(s)
	if _, err := base64.RawStdEncoding.DecodeString(plain); err != nil {
		return ""
	}
	return plain
}

var uuidWritten = regexp.MustCompile(`^\{?[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}\}?$`)

func bareUUID(s string) string {
	if len(s) > 38 || !uuidWritten.MatchString(s) {
		return ""
	}
	return strings.ToLower(bare.Replace(s))
}

// encodingCauses are those of letters that are lost.
func encodingCauses(a, b string) []string {
	x, y := []rune(a), []rune(b)
	if len(y) == 0 || slices.Equal(x, y) {
		return nil
	}
	if len(x) == len(y) { // marks stand for them
		for i := range x {
			if x[i] >= utf8.RuneSelf && (y[i] == '?' || y[i] == utf8.RuneError) {
				x[i] = y[i]
			}
		}
	} else {
		x = slices.DeleteFunc(x, func(r rune) bool { return r >= utf8.RuneSelf })
	}
	if slices.Equal(x, y) {
		return []string{"lost letters"}
	}
	return nil
}

// urlCauses are those of two URLs.
func urlCauses(a, b string) (keys []string) {
	if !strings.ContainsAny(a, "/%+") || !strings.ContainsAny(b, "/%+ ") {
		return nil
	}
	if x, errX := url.QueryUnescape(a); errX == nil {
		if y, errY := url.QueryUnescape(b); errY == nil && x == y && strings.ContainsAny(a, "%+") && strings.ContainsAny(b, "%+") {
			keys = append(keys, "url form")
		}
	}
	u, errU := url.Parse(a)
	v, errV := url.Parse(b)
	if errU != nil || errV != nil || u.RequestURI() != v.RequestURI() || u.Path == "" && v.Path == "" && u.Host == "" {
		return keys
	}
	switch {
	case (u.Host == "") != (v.Host == ""):
		keys = append(keys, "absolute URL")
	case u.Host == v.Host && u.Scheme != v.Scheme:
		keys = append(keys, "https")
	case u.Host != v.Host && u.Host != "":
		keys = append(keys, "host")
	}
	return keys
}

// partCauses are those of texts of which one is a part of the other.
func partCauses(a, b string) (keys []string) {
	const least = 3
	x, y := utf8.RuneCountInString(a), utf8.RuneCountInString(b)
	short := strings.TrimSuffix(strings.TrimSuffix(b, "..."), "…")
	if len(short) >= least && len(b) < len(a) && strings.HasPrefix(a, short) {
		keys = append(keys, fmt.Sprintf("text cut:%d", y), "text part")
	}
	if len(a) >= least && len(b) >= least {
		more := func(kind string, long, part string, n int) {
			if strings.HasSuffix(long, part) {
				keys = append(keys, fmt.Sprintf("prefix %s:%d:%x", kind, n, owner.Hash([]byte(strings.TrimSuffix(long, part)))))
			}
			if strings.HasPrefix(long, part) {
				keys = append(keys, fmt.Sprintf("suffix %s:%d:%x", kind, n, owner.Hash([]byte(strings.TrimPrefix(long, part)))))
			}
		}
		if x > y {
			more("cut", a, b, x-y)
		} else if y > x {
			more("added", b, a, y-x)
		}
	}
	if parts := strings.Split(a, ","); len(parts) > 1 && len(parts) < 64 {
		other := strings.Split(b, ",")
		slices.Sort(parts)
		slices.Sort(other)
		if slices.Equal(parts, other) {
			keys = append(keys, "words order")
		}
	}
	return keys
}

// figureCauses are those of numbers in texts.
func figureCauses(a, b string) (keys []string) {
	if len(a) > numberMost || len(b) > numberMost || b == "" || !strings.ContainsAny(a, "0123456789") {
		return nil
	}
	x, dx, okX := readRat(a)
	y, dy, okY := readRat(b)
	switch {
	case okX && okY && x.Cmp(y) == 0:
		return numberForms(a, b, dx, dy)
	case calculated(a) && calculated(b):
		return numberCauses(a, b)
	}
	_, _, plainA := readRat(separators.Replace(a))
	_, _, plainB := readRat(separators.Replace(b))
	switch {
	case strings.Count(a, ",") == 1 && strings.Replace(a, ",", ".", 1) == b:
		keys = append(keys, "point")
	case strings.Count(b, ",") == 1 && strings.Replace(b, ",", ".", 1) == a:
		keys = append(keys, "comma")
	case plainA && separators.Replace(a) == b:
		keys = append(keys, "no thousands")
	case plainB && separators.Replace(b) == a:
		keys = append(keys, "thousands")
	}
	return keys
}

// calculated reports whether a text is a number that one would calculate with, and
// not an id or a code, which are digits only.
func calculated(s string) bool {
	_, _, ok := readRat(s)
	return ok && (strings.ContainsAny(s, ".eE") || len(s) < 10 && s[0] != '0')
}

// numberForms are those of one number that is written in two ways.
func numberForms(a, b string, dx, dy int) (keys []string) {
	exponent := func(s string) bool { return strings.ContainsAny(s, "eE") }
	switch {
	case exponent(b) && !exponent(a):
		return []string{"exponent"}
	case exponent(a) && !exponent(b):
		return []string{"no exponent"}
	case strings.HasPrefix(a, "+") && !strings.HasPrefix(b, "+"):
		return []string{"plus cut"}
	case dy < dx:
		return []string{"zeros cut"}
	case dy > dx:
		return []string{"zeros added"}
	case len(a) > len(b):
		return []string{"lead cut"}
	case len(a) < len(b):
		return []string{"lead added"}
	}
	return nil
}
