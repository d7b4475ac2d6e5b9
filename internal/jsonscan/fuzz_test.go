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
)

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
