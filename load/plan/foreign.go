package plan

import (
	"bytes"
	"regexp"
	"unicode/utf8"

	"whittle"
)

// lookedAt bounds how much of a file is looked at to say what it is.
const lookedAt = 4 << 10

// kind is what a file may be that is no plan.
type kind struct{ what, hint string }

// binaries are files that are no text, by their first bytes.
var binaries = map[string]kind{
	"\x1f\x8b":           {"compressed with gzip", "take the plan out of it: gunzip it"},
	"PK\x03\x04":         {"a zip archive", "take the plan out of it: unzip it"},
	"BZh":                {"compressed with bzip2", "take the plan out of it: bunzip2 it"},
	"\xfd7zXZ\x00":       {"compressed with xz", "take the plan out of it: unxz it"},
	"\x28\xb5\x2f\xfd":   {"compressed with zstd", "take the plan out of it: unzstd it"},
	"7z\xbc\xaf\x27\x1c": {"a 7z archive", "take the plan out of it"},
	"%PDF-":              {"a PDF document", ""},
	"\x89PNG\r\n":        {"a picture", ""},
	"\xff\xd8\xff":       {"a picture", ""},
	"\x7fELF":            {"a program", ""},
}

// tar is where a tar archive says that it is one, and how.
const (
	tarAt = 257
	tar   = "ustar"
)

// texts are files of others that are mistaken for plans, by what is in them.
var texts = []struct {
	has string // a pattern, but for spaces and a byte order mark at the beginning
	kind
}{
	{`(?i)^(<!doctype html|<html|<!--[^>]*-->\s*<(!doctype )?html)`, kind{"an HTML page", "the page that shows a file was saved in place of the file: take its raw address"}},
	{`^version https://git-lfs\.github\.com/`, kind{"a pointer of Git LFS", "fetch the file that it stands for: git lfs pull"}},
	{`^(404: Not Found|\{\s*"message"\s*:\s*"Not Found")`, kind{"a server's response that there is no such file", "take the file's right address"}},
	{`^\{\s*"log"\s*:\s*\{(?s:.*)"(version|creator|pages|entries)"`, kind{"an HTTP Archive (HAR)", "whittle new FILE --to DIR makes a service of it, with a load plan; whittle record import adds it to a log, for whittle replay"}},
	{`^\{(?s:.*)("_postman_id"|schema\.getpostman\.com|"_postman_variable_scope")`, kind{"a Postman collection", "send one of its requests with flags (whittle load URL), or write them as an Artillery plan"}},
	{`^(?s:\{.*"(openapi|swagger)"\s*:\s*"\d|(.*\n)?(openapi|swagger): *["']?\d)`, kind{"an OpenAPI document", "whittle new FILE --to DIR makes a service of it, with a load plan"}},
	{`^\{(?s:.*)"format"\s*:\s*"whittle\.load/`, kind{"a report of whittle's", "whittle compare compares two of them"}},
	{`^\{\s*"aggregate"\s*:\s*\{`, kind{"a report of Artillery's", "give the plan that it is of"}},
	{`^(?s:.*)(from\s+['"]k6(/\w+)*['"]|require\(['"]k6(/\w+)*['"]\))`, kind{"a script for k6", "send its requests with flags (whittle load URL), or write them as an Artillery plan"}},
	{`^(?s:.*)\b(from|import) locust\b`, kind{"a script for Locust", "write its requests as an Artillery plan"}},
	{`^(?s:.*)\bextends\s+Simulation\b`, kind{"a script for Gatling", "write its requests as an Artillery plan"}},
	{`^(timeStamp,elapsed,|\d{13},\d+,|(?s:<\?xml.*?\?>\s*)?<testResults\b)`, kind{"a file of JMeter's results (.jtl)", "give the plan that they are of, a .jmx"}},
	{`^(?s:<\?xml.*?\?>\s*)?(<!DOCTYPE tsung\b|<tsung\b)`, kind{"a plan for Tsung", "write its requests as an Artillery plan"}},
	{`^(GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS) https?://\S+\s`, kind{"a list of targets, as Vegeta has it", "send one of them with flags (whittle load URL), or write them as an Artillery plan"}},
	{`(?m)^routes:`, kind{"a config of the gateway", "whittle run -c reads it"}},
	{`(?m)\bmodule\.exports\b|^exports\.\w+\s*=|^export (default|function|const)\b`, kind{"JavaScript", "give the plan that names it as its processor"}},
}

// notText refuses a file that is no text, or one in UTF-16, by what it is.
func notText(name string, head []byte) error {
	if size := wide(head); size != "" {
		return whittle.Errorf(whittle.Invalid, "%s:1:1: the plan is in %s: save it as UTF-8", name, size)
	}
	for first, k := range binaries {
		if bytes.HasPrefix(head, []byte(first)) {
			return k.refuse(name)
		}
	}
	if bytes.HasPrefix(head[min(len(head), tarAt):], []byte(tar)) {
		return kind{"a tar archive", "take the plan out of it: tar -xf"}.refuse(name)
	}
	if bytes.IndexByte(head, 0) >= 0 {
		return kind{what: "a binary file"}.refuse(name)
	}
	return nil
}

// own is what a plan of Artillery's or JMeter's has, be it wrong.
const own = `(?m)^(config|scenarios)\s*:|^[\s{]*"(config|scenarios)"\s*:|<jmeterTestPlan\b`

// Foreign says of a file that no reader takes what it is. Nil: nobody knows, or it is a plan
// that has a mistake.
func Foreign(name string, src []byte) error {
	head := src[:min(len(src), lookedAt)]
	if err := notText(name, head); err != nil {
		return err
	}
	head = bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\ufeff")), " \t\r\n")
	has := func(pattern string) bool { return regexp.MustCompile(pattern).Match(head) } // only where something is wrong
	if has(own) {
		return nil
	}
	for _, k := range texts {
		if has(k.has) {
			return k.refuse(name)
		}
	}
	return nil
}

func (k kind) refuse(name string) error {
	err := whittle.Errorf(whittle.Invalid, "%s is %s, and no load plan", name, k.what)
	if k.hint == "" {
		return err.WithHint("a plan is an Artillery script (YAML or JSON) or a JMeter .jmx")
	}
	return err.WithHint(k.hint)
}

// wide is UTF-16 or UTF-32 where a text is in it, with a byte order mark or by the zeros of
// its letters.
func wide(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte{0xff, 0xfe, 0, 0}) || bytes.HasPrefix(head, []byte{0, 0, 0xfe, 0xff}):
		return "UTF-32"
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}) || bytes.HasPrefix(head, []byte{0xfe, 0xff}):
		return "UTF-16"
	}
	for _, first := range []int{0, 1} {
		if letters := head[:len(head)/2*2]; len(letters) >= 8 && isWide(letters, first) {
			return "UTF-16"
		}
	}
	return ""
}

// isWide reports whether most units of two bytes, of which the one at low is the lower,
// are letters of ASCII, and all are of a text.
func isWide(b []byte, low int) bool {
	ascii := 0
	for i := 0; i < len(b); i += 2 {
		r := rune(b[i+low]) | rune(b[i+1-low])<<8
		switch {
		case r >= ' ' && r < utf8.RuneSelf || r == '\n' || r == '\r' || r == '\t':
			ascii++
		case r < ' ':
			return false
		}
	}
	return ascii*2 > len(b)/2
}
