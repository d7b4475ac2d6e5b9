package front

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"whittle/systems/ingest/stream"
)

func TestIDsAsIdempotencyKeys(t *testing.T) {
	for id, key := range map[string]string{
		"plain-1":       "plain-1",
		`"8e03-978e"`:   `"8e03-978e"`, // what clients of the draft of Idempotency-Key send stays what it was
		"100%":          "100%",
		"%41":           "%41",
		"order 17":      `%"order 17"`,
		"käse":          `%"k%c3%a4se"`,
		"a\nb":          `%"a%0ab"`,
		`say "%" twice`: `%"say %22%25%22 twice"`,
		`%"x"`:          `%"%25%22x%22"`,
		`%"`:            `%"%25%22"`,
		"\x7f\x00":      `%"%7f%00"`,
	} {
		if got := IdempotencyKey(id); got != key {
			t.Errorf("%q is written %s, want %s", id, got, key)
		}
		if got, ok := idOf(key); !ok || got != id {
			t.Errorf("%s is read %q %t, want %q", key, got, ok, id)
		}
	}
	long := strings.Repeat("\x01", stream.MaxID)
	if got, ok := idOf(IdempotencyKey(long)); !ok || got != long {
		t.Errorf("the longest is read %q", got)
	}
	for _, key := range []string{
		"", " ", "a b", "käse", strings.Repeat("x", stream.MaxID+1), // no visible ASCII, or too long
		`%"`, `%""`, `%"x`, `%"x"y`, `%"x";a=1`, `%"x"y"`, // no end, nothing, or something after it
		`%"%"`, `%"%4"`, `%"%4g"`, `%"%C3%A4"`, `%"%ff"`, `%"%ed%a0%80"`, "%\"\t\"", // badly escaped, not UTF-8
		IdempotencyKey(long + "\x01"), `%"` + strings.Repeat("x", stream.MaxID+1) + `"`,
	} {
		if id, ok := idOf(key); ok {
			t.Errorf("%q is read as %q", key, id)
		}
	}
}

// TestAnIDIsTheSameInBodyAndHeader: an event that came with its messageId is
// known when it is sent again as it is.
func TestAnIDIsTheSameInBodyAndHeader(t *testing.T) {
	s := serve(t, nil)
	for i, id := range []string{"order 17", "käse", `a\nb`, `\u0000`, `%\"x\"`} {
		first := s.post("/v1/track", fmt.Sprintf(`{"userId":"u","event":"e","messageId":"%s"}`, id))
		kept := s.stream.records()[i]
		again := s.post("/import", string(kept.Value), "Content-Type: application/json", "Idempotency-Key: "+IdempotencyKey(kept.ID))
		if again.code != 200 || again.Status != "duplicate" || again.Position != first.Position || again.MessageID != kept.ID {
			t.Errorf("%s: %s, then %s", id, first.text, again.text)
		}
	}
}

// FuzzIdempotencyKey holds that every id comes back from its key, through what a
// header may hold, and that nothing else is read than what may be an id.
func FuzzIdempotencyKey(f *testing.F) {
	for _, s := range []string{"k1", "order 17", "käse", "a\nb", `%"k%c3%a4se"`, `%"%`, "\xff", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if id, ok := idOf(s); ok {
			if id == "" || len(id) > stream.MaxID || !utf8.ValidString(id) {
				t.Fatalf("%q is read as %q", s, id)
			}
			if again, ok := idOf(IdempotencyKey(id)); !ok || again != id {
				t.Fatalf("%q became %q", id, again)
			}
		}
		key := IdempotencyKey(s)
		for i := range len(key) {
			if key[i] < ' ' || key[i] > '~' {
				t.Fatalf("%q is written %q", s, key)
			}
		}
		id, ok := idOf(key)
		if want := s != "" && len(s) <= stream.MaxID && utf8.ValidString(s); ok != want || ok && id != s {
			t.Fatalf("%q came back as %q, %t", s, id, ok)
		}
	})
}
