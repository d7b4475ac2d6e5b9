package transcode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"whittle"
	"whittle/internal/fatal"
)

// wordyFile has all values of the enum but V0 at its verb.
const wordyFile = `
file { name: "w.proto" package: "w.v1" syntax: "proto3"
  enum_type { name: "State" value { name: "V0" number: 0 } %s }
  message_type { name: "Thing"
    field { name: "is" number: 1 type: TYPE_ENUM type_name: ".w.v1.State" label: LABEL_OPTIONAL json_name: "is" }
    field { name: "may" number: 2 type: TYPE_ENUM type_name: ".w.v1.State" label: LABEL_OPTIONAL json_name: "may" oneof_index: 0 proto3_optional: true }
    field { name: "list" number: 3 type: TYPE_ENUM type_name: ".w.v1.State" label: LABEL_REPEATED json_name: "list" }
    field { name: "map" number: 4 type: TYPE_MESSAGE type_name: ".w.v1.Thing.MapEntry" label: LABEL_REPEATED json_name: "map" }
    field { name: "below" number: 5 type: TYPE_MESSAGE type_name: ".w.v1.Thing" label: LABEL_OPTIONAL json_name: "below" }
    field { name: "things" number: 6 type: TYPE_MESSAGE type_name: ".w.v1.Thing" label: LABEL_REPEATED json_name: "things" }
    field { name: "text" number: 7 type: TYPE_STRING label: LABEL_OPTIONAL json_name: "text" }
    oneof_decl { name: "_may" }
    nested_type { name: "MapEntry" options { map_entry: true }
      field { name: "key" number: 1 type: TYPE_STRING label: LABEL_OPTIONAL json_name: "key" }
      field { name: "value" number: 2 type: TYPE_ENUM type_name: ".w.v1.State" label: LABEL_OPTIONAL json_name: "value" } } }
  service { name: "Words" method { name: "Echo" input_type: ".w.v1.Thing" output_type: ".w.v1.Thing" } } }`

// wordy is a contract whose message has an enum in every place that one can be
// in. Some words are names of other values, or numbers.
func wordy(t testing.TB, words []string) *Transcoder {
	t.Helper()
	values, of := "", map[string]string{}
	for i, w := range words {
		name := fmt.Sprintf("V%d", i+1)
		values += fmt.Sprintf("value { name: %q number: %d }\n", name, i+1)
		of[name] = w
	}
	set := &descriptorpb.FileDescriptorSet{}
	fatal.If(t, prototext.Unmarshal(fmt.Appendf(nil, wordyFile, values), set))
	b, err := proto.Marshal(set)
	fatal.If(t, err)
	tr, err := New(whittle.RPC{Protocol: whittle.Connect, Descriptor: b, Method: "w.v1.Words/Echo", Words: of})
	fatal.If(t, err)
	return tr
}

var oddWords = []string{"open", "Open", "in work", "V1", "V3", "V0", "2", "0", "", "null", "true", "é\u2028", `"\`, "<&>", "a\nb"}

// thing draws a message's JSON. Now and then it has a word of no enum.
func thing(r *rand.Rand, words []string, depth int, wrong *bool) map[string]any {
	word := func() any {
		if r.IntN(60) == 0 {
			w := []any{"opem", 1, true, []any{}, words[0] + " ", "\ufffd"}[r.IntN(6)]
			*wrong = true
			return w
		}
		return words[r.IntN(len(words))]
	}
	out := map[string]any{"is": word(), "text": oddWords[r.IntN(len(oddWords))]}
	if r.IntN(2) == 0 {
		out["may"] = word()
	}
	list := make([]any, r.IntN(3))
	for i := range list {
		list[i] = word()
	}
	byKey := map[string]any{}
	for i := range r.IntN(3) {
		byKey[oddWords[i+r.IntN(len(oddWords)/3)*3]] = word()
	}
	out["list"], out["map"], out["things"] = list, byKey, []any{}
	if depth < 4 {
		if r.IntN(2) == 0 {
			out["below"] = thing(r, words, depth+1, wrong)
		}
		things := make([]any, r.IntN(3))
		for i := range things {
			things[i] = thing(r, words, depth+1, wrong)
		}
		out["things"] = things
	}
	return out
}

// TestWordsComeBack: whatever the words, JSON with them becomes a message and
// the same JSON again, and JSON with any other is refused.
func TestWordsComeBack(t *testing.T) {
	refused, kept := 0, 0
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 9))
		words := slices.Clone(oddWords)
		r.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
		words = words[:1+r.IntN(len(words))]
		tr := wordy(t, words)
		for range 10 {
			wrong := false
			doc, err := json.Marshal(thing(r, words, 0, &wrong))
			fatal.If(t, err)
			call, err := tr.Request(sent(asJSON, "/", string(doc)))
			if wrong {
				if err == nil || whittle.CodeOf(err) != whittle.Invalid {
					t.Fatalf("%q: %s became a call, %v", words, doc, err)
				}
				refused++
				continue
			}
			if err != nil {
				t.Fatalf("%q: %s: %v", words, doc, err)
			}
			back := tr.Response(response(200, "application/proto", string(call.Body)))
			if back.Failure != "" || !sameJSON(back.Body, doc) {
				t.Fatalf("%q:\n%s came back as\n%s %s", words, doc, back.Body, back.Detail)
			}
			kept++
		}
	}
	if refused < 150 || kept < 150 {
		t.Errorf("%d refused, %d kept", refused, kept)
	}
}

func sameJSON(a, b []byte) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	p, _ := json.Marshal(x)
	q, _ := json.Marshal(y)
	return bytes.Equal(p, q)
}

// FuzzWords: what is read with words says what was written. The enums of the
// call are those of the text as a plain JSON reader sees them, in its order.
func FuzzWords(f *testing.F) {
	f.Add([]byte(`{"is":"open","may":"V1","list":["open","2"],"map":{"a":"V3"},"below":{"is":"in work"},"things":[{"is":"0"}],"text":"\ud800"}`))
	f.Add([]byte(`{"is":2}`))
	f.Add([]byte(` [1] `))
	f.Add([]byte(`{"is":"open","is":"V1","x":{"is":["}"]},"may":null,"things":[{},{"is":"\u006fpen"}]}`))
	tr := wordy(f, slices.DeleteFunc(slices.Clone(oddWords), func(w string) bool { return w == unset }))
	f.Fuzz(func(t *testing.T, body []byte) {
		call, err := tr.Request(sent(asJSON, "/", string(body)))
		if err != nil || len(body) == 0 {
			return
		}
		m := message(t, tr, call.Body)
		var doc any
		if err := json.Unmarshal(body, &doc); err != nil {
			t.Fatalf("%q became a call: %v", body, err)
		}
		if got, want := spoken(tr.words.asMap(m), nil), spoken(doc, nil); !slices.Equal(got, want) {
			t.Fatalf("%q has the words %q, and the call %q", body, want, got)
		}
	})
}

// spoken lists the words of a thing as the members say them, sorted.
func spoken(v any, out []string) []string {
	m, ok := v.(map[string]any)
	if !ok {
		return out
	}
	list, _ := m["list"].([]any)
	byKey, _ := m["map"].(map[string]any)
	things, _ := m["things"].([]any)
	for _, w := range slices.AppendSeq(append([]any{m["is"], m["may"]}, list...), maps.Values(byKey)) {
		// Unset is V0, which has no word, in a call, and nothing in JSON.
		if s, ok := w.(string); ok && s != unset {
			out = append(out, s)
		}
	}
	for _, one := range append([]any{m["below"]}, things...) {
		out = spoken(one, out)
	}
	slices.Sort(out)
	return out
}

// unset is how asMap names the value without a word.
const unset = "V0"
