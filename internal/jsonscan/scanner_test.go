package jsonscan

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"whittle/internal/fatal"
)

// valid and the lists below are texts as the public JSON test suites have them:
// each is held to encoding/json as well, see FuzzCheck.
var valid = []string{
	// Numbers.
	"0", "-0", "10", "-1", "0.0", "-0.5", "1.25", "1e5", "1E+5", "1e-5", "0e0", "0E+00", "123456789012345678901234567890",
	"1e400", "-1.5e-400", "0.1e1", "20e01",
	// Words.
	"true", "false", "null",
	// Strings.
	`""`, `"a"`, `"12345678"`, `"1234567"`, `"123456789"`, `"\""`, `"\\"`, `"\/"`, `"\b\f\n\r\t"`, `"\u0000"`, `"\uD83D\uDE00"`, `"\ud83d"`, `"\ude00\ud83d"`,
	`"\uD800\u0041"`, `"\uDBFF\uDFFF"`, `"\uFFFE\uFFFF"`, `"\u002F\u00e9\u00E9"`, "\"\u00e9\u2028\U0001F600\x7f\"", `"aaaaaaa\"bbbbbbb"`, `"1234567\\"`,
	`" "`, `"a b c"`, `"        "`, `"123456 8 0"`,
	// Containers.
	"[]", "{}", "[[]]", "[{}]", `{"":{}}`, "[1,2,3]", `[null,true,false,1,"",[],{}]`, `{"a":1,"a":2}`, `{"a":{"b":[{"c":[]}]}}`, `{"\u0061":0}`,
	// Space.
	" 1 ", "\t\n\r []\n", "[ ]", "{ }", "[ 1 , 2 ]", `{ "a" : 1 , "b" : [ ] }`, "\"\\u0020\" ",
	// Depth.
	strings.Repeat("[", 63) + strings.Repeat("]", 63), strings.Repeat("[", 64) + strings.Repeat("]", 64), strings.Repeat("[", 65) + "1" + strings.Repeat("]", 65),
	strings.Repeat(`{"a":[`, 100) + strings.Repeat("]}", 100), strings.Repeat("[", 130) + "{},[]" + strings.Repeat("]", 130),
	// Bytes that are not UTF-8 are encoding/json's to accept.
	"\"\xff\"", "\"\xed\xa0\x80\"", "\"\xc0\xaf\"",
}

// truncated are JSON as far as they go.
var truncated = []string{
	"", " ", "\n", "-", "1.", "-1.", "1e", "1E", "1e+", "1.5e-", "t", "tr", "tru", "fals", "n", "nul", `"`, `"a`, `"\`, `"\u`, `"\u1`, `"\u12`, `"\u123`, `"\u1234`,
	`"12345678`, "[", "[ ", "[1", "[1,", "[1 ,", "[[", "[[]", "[[],", "{", "{ ", `{"`, `{"a"`, `{"a" `, `{"a":`, `{"a": `, `{"a":1`, `{"a":1,`, `{"a":1, `, `{"a":1,"`, `{"a":{`, `{"a":{}`,
	`[1,{"a":[`, `[1,{"a":[]`, `[1,{"a":[]}`, "[-", "[1.", "[tru", `["\ud83d`, strings.Repeat("[", 100), strings.Repeat(`{"a":[`, 50), strings.Repeat("[", 70) + "1" + strings.Repeat("]", 69),
}

// wrongTexts cannot become JSON.
var wrongTexts = []string{
	"+1", "01", "-01", "00", ".5", "-.5", "1.e1", "1..2", "1.2.3", "1ee1", "1e1.5", "0x1", "1_0", "--1", "- 1", "1 2", "1a", "1.5.", "Infinity", "NaN", "-Infinity", "0e+-1",
	"True", "TRUE", "nulL", "nil", "undefined", "trux", "truee", "true false", "tr ue", "nulll",
	`'a'`, "\"\x00\"", "\"\n\"", "\"\t\"", "\"1234567\n\"", "\"\x1f",
	`"\x"`, `"\a"`, `"\'"`, `"\0"`, `"\U0041"`, `"\u004"`, `"\u00G0"`, `"\u+041"`, `"\u 041"`, `"\ud83d\u"`, `"\u1z`, `"\q`, `"a" "b"`, `"a"x`,
	"]", "}", "[}", "{]", "[1}", `{"a":1]`, "[,", "[,1]", "[1,]", "[1,,2]", "[1 2]", "[1;2]", "{,}", `{"a"}`,
	`{"a",1}`, `{"a":}`, `{"a":1,}`, `{"a":1,,}`, `{"a":1 "b":2}`, `{a:1}`, `{1:1}`, `{'a':1}`, `{"a"::1}`,
	`{"a":1}}`, "[]]", "[] []", "[]x", "{}[]", `{[]:1}`, `{"a" 1}`, `{null:1}`,
	"//", "/**/1", "[1]//", "\ufeff1", "\xff", "\v1", "\f[]", "\u00a01", "\u20281", "[\u00a0]", "*", ":", ",", `{:1}`, "[:", "\x00", "1\x00",
}

// TestDepth holds the bound to exactly as many containers as it says, with what
// is read token by token and with what is skipped.
func TestDepth(t *testing.T) {
	for _, depth := range []int{0, 1, 2, 63, 64, 65, 127, 128, 129, 200, MaxDepth} {
		for _, half := range [][2]string{{"[", "]"}, {`{"a":`, "}"}} {
			middle := ""
			if half[0] != "[" || depth == 0 {
				middle = "1"
			}
			text := []byte(strings.Repeat(half[0], depth) + middle + strings.Repeat(half[1], depth))
			for _, most := range []int{depth, depth + 1, depth - 1} {
				want := error(nil)
				if most < depth {
					want = TooDeep
				}
				if most < 0 {
					continue
				}
				if got := Check(text, most); !errors.Is(got, want) {
					t.Errorf("%d containers, %d allowed: %v, not %v", depth, most, got, want)
				}
				if _, got := walk(text, most); !errors.Is(got, want) {
					t.Errorf("%d containers, %d allowed, token by token: %v, not %v", depth, most, got, want)
				}
			}
		}
	}
	if got := Check([]byte(strings.Repeat("[", 10)+"?"), 5); !errors.Is(got, TooDeep) {
		t.Errorf("a fault behind the depth allowed: %v", got)
	}
}

// walk writes down all tokens of a text.
func walk(text []byte, depth int) (tokens []string, err error) {
	var s Scanner
	s.Reset(text, 0, depth)
	for {
		switch kind := s.Next(); kind {
		case None:
			if err = s.Err(); err == nil {
				err = s.Finish()
			}
			return tokens, err
		case String, Key:
			plain, _ := AppendText(nil, s.Inside())
			if !s.Escaped() && !bytes.Equal(plain, s.Inside()) {
				return tokens, errors.New("an escape was not seen")
			}
			tokens = append(tokens, "s"+string(bytes.ToValidUTF8(plain, []byte("\ufffd"))))
		case End:
			tokens = append(tokens, "]")
		case Array, Object:
			tokens = append(tokens, "[")
		default:
			tokens = append(tokens, string(s.Bytes()))
		}
	}
}

// TestOffset holds an error's offset to where the token begins that could not be
// read, whether it is met by Next or by Skip.
func TestOffset(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "  ": 2, "?": 0, "-": 0, " tru": 1, `["ab\q"]`: 1, `["ab`: 1, `[1, 02]`: 4, `{"a" 1}`: 1, `{"a"`: 1, `[{"b" `: 2, `[{"b" x`: 2, `{"a":}`: 5, `{"a":1 2}`: 7, `[1,`: 3, `[1 `: 3, `{"a":1,}`: 7,
		`{"a":1.}`: 5, `[[[[`: 3, `[1}`: 2, `{"a`: 1, `{"a":[1,{"b":x`: 13, `[[]`: 3, `{"a":{"b" :`: 11,
	} {
		var s Scanner
		s.Reset([]byte(text), 0, 3)
		for s.Next() != None {
		}
		if s.Err() == nil || s.Offset() != want {
			t.Errorf("%q: %v at %d, not at %d", text, s.Err(), s.Offset(), want)
		}
		err := s.Err()
		s.Reset([]byte(text), 0, 3)
		if !errors.Is(s.Finish(), err) || s.Offset() != want {
			t.Errorf("%q: skipped, %v at %d, not at %d", text, s.Err(), s.Offset(), want)
		}
		if s.Next() != None || s.Skip() || !errors.Is(s.Finish(), err) {
			t.Errorf("%q: it went on behind an error", text)
		}
	}
}

// TestMark counts depth and bytes beyond ASCII for one part of a text at a time.
func TestMark(t *testing.T) {
	var s Scanner
	s.Reset([]byte(`["é",[[]],[1],"plain text of some length"        ]`), 0, 9)
	s.Next()
	for i, want := range []struct {
		deepest int
		ascii   bool
	}{{1, false}, {3, true}, {2, true}, {1, true}} {
		s.Mark()
		s.Next()
		if !s.Skip() || s.Deepest() != want.deepest || s.ASCII() != want.ascii {
			t.Errorf("item %d: %d deep, ASCII %v", i, s.Deepest(), s.ASCII())
		}
	}
}

// TestNoAllocation holds a Scanner in use to no allocation at all, and a new one
// to none up to a depth of 64.
func TestNoAllocation(t *testing.T) {
	deep := []byte(strings.Repeat(`{"a":[`, 500) + strings.Repeat("]}", 500))
	var s Scanner
	s.Reset(deep, 0, MaxDepth)
	fatal.If(t, s.Finish())
	flat := []byte(strings.Repeat("[", 64) + `{"a":"\u00e9"}`[:0] + `"\u00e9",1.5,null` + strings.Repeat("]", 64))
	broken := []byte(`{"a":[1,"\q"]}`)
	buf := make([]byte, 0, 64)
	if n := testing.AllocsPerRun(20, func() {
		s.Reset(deep, 0, MaxDepth)
		_ = s.Finish()
		if Check(flat, 64) != nil || !errors.Is(Check(broken, 64), Syntax) {
			t.Error("checked wrongly")
		}
		buf, _ = AppendText(buf[:0], []byte(`a\u00e9\n`))
		buf = AppendString(buf[:0], "a\nb")
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// reference is what encoding/json has to say of a text, in this package's terms.
// Its decoder reads byte by byte and stops at the first that is wrong, so a text
// at whose end it still waits for more is one that can go on.
func reference(text []byte) error {
	if json.Valid(text) {
		return nil
	}
	var v json.RawMessage
	err := json.NewDecoder(bytes.NewReader(text)).Decode(&v)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return Truncated
	case err != nil && strings.HasSuffix(err.Error(), "exceeded max depth"):
		return TooDeep
	}
	return Syntax // also where more follows a value
}

// tokens is what encoding/json reads a text as, as walk writes it.
func tokens(text []byte) (all []string) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		switch v := token.(type) {
		case json.Delim:
			all = append(all, strings.NewReplacer("{", "[", "}", "]").Replace(v.String()))
		case string:
			all = append(all, "s"+v)
		case json.Number:
			all = append(all, string(v))
		case bool:
			all = append(all, map[bool]string{true: "true", false: "false"}[v])
		case nil:
			all = append(all, "null")
		}
	}
}

// FuzzCheck holds the scanner to encoding/json: the same texts are JSON, the
// same are cut off, and the tokens are the same, whether the text is read token
// by token or skipped. Of a text that is JSON, each proper prefix is JSON or is
// cut off, and nothing else.
func FuzzCheck(f *testing.F) {
	for _, list := range [][]string{valid, truncated, wrongTexts} {
		for _, text := range list {
			f.Add([]byte(text))
		}
	}
	f.Add([]byte(strings.Repeat("[", MaxDepth+1)))
	f.Fuzz(func(t *testing.T, text []byte) {
		want := reference(text)
		if got := Check(text, MaxDepth); !errors.Is(got, want) {
			t.Fatalf("%q: %v, encoding/json has %v", text, got, want)
		}
		got, err := walk(text, MaxDepth)
		if !errors.Is(err, want) {
			t.Fatalf("%q: token by token %v, encoding/json has %v", text, err, want)
		}
		var s Scanner
		s.Reset(text, 0, MaxDepth)
		if s.Finish() != nil && s.Offset() > len(text) {
			t.Fatalf("%q: an error at %d", text, s.Offset())
		}
		if want != nil {
			return
		}
		if ref := tokens(text); utf8.Valid(text) && !slices.Equal(got, ref) {
			t.Fatalf("%q: %q, encoding/json has %q", text, got, ref)
		}
		for n := range min(len(text), 2000) {
			if err := Check(text[:n], MaxDepth); !errors.Is(err, Truncated) && (err != nil || !json.Valid(text[:n])) {
				t.Fatalf("%q, a prefix of JSON: %v", text[:n], err)
			}
		}
	})
}

// FuzzSkip skips what begins with a token of a text: the value that is skipped is
// JSON, and reading on gives the same end as reading all.
func FuzzSkip(f *testing.F) {
	for i, text := range valid {
		f.Add([]byte(text), uint8(i%7))
	}
	for i, text := range truncated {
		f.Add([]byte(text), uint8(i%5))
	}
	f.Fuzz(func(t *testing.T, text []byte, n uint8) {
		var s Scanner
		s.Reset(text, 0, 200)
		for range n {
			s.Next()
		}
		if kind := s.kind; s.Skip() && (kind == Key || kind == Array || kind == Object) && !json.Valid(s.Bytes()) {
			t.Fatalf("%q was skipped in %q", s.Bytes(), text)
		}
		if got, want := s.Finish(), Check(text, 200); !errors.Is(got, want) {
			t.Fatalf("%q: %v after %d tokens and a skip, %v at once", text, got, n, want)
		}
	})
}

// FuzzString: a text that is quoted is a JSON string which stands for the text,
// and what any string stands for is what encoding/json says.
func FuzzString(f *testing.F) {
	for _, s := range []string{"", "a\"b\\", "\x00\x1f\x7f", "é\xff\u2028", `\ud83d\ude00`, `\ud83d`, `\`, `\u12`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		quoted := AppendString(nil, text)
		if Check(quoted, 0) != nil || !json.Valid(quoted) {
			t.Fatalf("%q became %s", text, quoted)
		}
		if back, whole := AppendText(nil, quoted[1:len(quoted)-1]); string(back) != text || !whole {
			t.Fatalf("%q became %s and then %q", text, quoted, back)
		}
		raw := `"` + text + `"`
		var want string
		if !utf8.ValidString(text) || json.Unmarshal([]byte(raw), &want) != nil {
			return
		}
		if got, _ := AppendText(nil, []byte(text)); string(got) != want {
			t.Fatalf("%s stands for %q, encoding/json has %q", raw, got, want)
		}
	})
}
