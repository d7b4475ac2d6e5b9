package transcode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"whittle"
	"whittle/internal/fatal"
)

// wordy is a contract whose message has an enum in every place that one can be
// in. Some words are names of other values, or numbers.
func wordy(t testing.TB, words []string) *Transcoder {
	t.Helper()
	enum := &descriptorpb.EnumDescriptorProto{Name: new("State"), Value: []*descriptorpb.EnumValueDescriptorProto{{Name: new("V0"), Number: new(int32(0))}}}
	of := map[string]string{}
	for i, w := range words {
		name := fmt.Sprintf("V%d", i+1)
		enum.Value = append(enum.Value, &descriptorpb.EnumValueDescriptorProto{Name: new(name), Number: new(int32(i + 1))})
		of[name] = w
	}
	field := func(name string, n int32, kind descriptorpb.FieldDescriptorProto_Type, of string, label descriptorpb.FieldDescriptorProto_Label) *descriptorpb.FieldDescriptorProto {
		f := &descriptorpb.FieldDescriptorProto{Name: new(name), JsonName: new(name), Number: new(n), Type: kind.Enum(), Label: label.Enum()}
		if of != "" {
			f.TypeName = new(".w.v1." + of)
		}
		return f
	}
	const (
		one, many            = descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL, descriptorpb.FieldDescriptorProto_LABEL_REPEATED
		anEnum, text, object = descriptorpb.FieldDescriptorProto_TYPE_ENUM, descriptorpb.FieldDescriptorProto_TYPE_STRING, descriptorpb.FieldDescriptorProto_TYPE_MESSAGE
	)
	optional := field("may", 2, anEnum, "State", one)
	optional.Proto3Optional, optional.OneofIndex = new(true), new(int32(0))
	message := &descriptorpb.DescriptorProto{
		Name: new("Thing"),
		Field: []*descriptorpb.FieldDescriptorProto{
			field("is", 1, anEnum, "State", one), optional, field("list", 3, anEnum, "State", many), field("map", 4, object, "Thing.MapEntry", many),
			field("below", 5, object, "Thing", one), field("things", 6, object, "Thing", many), field("text", 7, text, "", one),
		},
		OneofDecl: []*descriptorpb.OneofDescriptorProto{{Name: new("_may")}},
		NestedType: []*descriptorpb.DescriptorProto{{
			Name:    new("MapEntry"),
			Field:   []*descriptorpb.FieldDescriptorProto{field("key", 1, text, "", one), field("value", 2, anEnum, "State", one)},
			Options: &descriptorpb.MessageOptions{MapEntry: new(true)},
		}},
	}
	file := &descriptorpb.FileDescriptorProto{
		Name: new("w.proto"), Package: new("w.v1"), Syntax: new("proto3"),
		MessageType: []*descriptorpb.DescriptorProto{message}, EnumType: []*descriptorpb.EnumDescriptorProto{enum},
		Service: []*descriptorpb.ServiceDescriptorProto{{Name: new("Words"), Method: []*descriptorpb.MethodDescriptorProto{
			{Name: new("Echo"), InputType: new(".w.v1.Thing"), OutputType: new(".w.v1.Thing")},
		}}},
	}
	b, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{file}})
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
	m, _ := v.(map[string]any)
	say := func(v any) {
		// Unset is V0, which has no word, in a call, and nothing in JSON.
		if s, ok := v.(string); ok && s != unset {
			out = append(out, s)
		}
	}
	say(m["is"])
	say(m["may"])
	list, _ := m["list"].([]any)
	for _, w := range list {
		say(w)
	}
	byKey, _ := m["map"].(map[string]any)
	for _, w := range byKey {
		say(w)
	}
	out = spokenIn(m["below"], out)
	things, _ := m["things"].([]any)
	for _, one := range things {
		out = spokenIn(one, out)
	}
	slices.Sort(out)
	return out
}

func spokenIn(v any, out []string) []string {
	if v == nil {
		return out
	}
	return spoken(v, out)
}

// unset is how asMap names the value without a word.
const unset = "V0"
