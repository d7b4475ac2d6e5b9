package form

import (
	"testing"

	"whittle/carve/compare/jsondoc"
)

// TestCharactersAreThoseOfTheText: that one side escapes a slash or a plus, which JSON lets
// it, makes no other characters of an id.
func TestCharactersAreThoseOfTheText(t *testing.T) {
	t.Parallel()
	for _, s := range []string{`"ab/cd+/Zz09x"`, `"ab\/cd+\/Zz09x"`, `"ab/cd\u002B/Zz09x"`} {
		var w walker
		if w.doc.Scan([]byte(s)) != jsondoc.Scanned {
			t.Fatal(s)
		}
		if v := w.look(0); string(charsOfValue([]value{v})) != "ab/cd+/Zz09x" {
			t.Errorf("%s: %q of %v", s, charsOfValue([]value{v}), v.form)
		}
	}
}

// TestLettersAndDigitsDiffer: an id with letters in the place of digits is made of
// other characters.
func TestLettersAndDigitsDiffer(t *testing.T) {
	t.Parallel()
	seen := map[byte]rune{}
	for _, r := range "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-" {
		k := charKind(byte(r))
		if was, known := seen[k]; known || k >= charKinds {
			t.Errorf("%q is %d, as is %q", r, k, was)
		}
		seen[k] = r
	}
}
