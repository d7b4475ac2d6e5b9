package infer

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"whittle"
	"whittle/carve/transcode"
	"whittle/contract"
	"whittle/record/capture"
)

// wordFamily draws an object with sets of words at random places in it. Each has
// an id, so that no two are the same. say draws a word of a set.
func wordFamily(r *rand.Rand, depth int, say func(set []string) any) func(id int) map[string]any {
	alphabet := []string{"open", "closed", "in-work", "in_work", "inWork", "a", "b2", "OPEN", "Paused", "unspecified", "x-y-z", "f", "lost"}
	members := map[string]func(id int) any{}
	for _, name := range []string{"state", "kind", "Mode", "level-of", "roles", "byKey", "below", "things", "n"} {
		if r.IntN(3) == 0 {
			continue
		}
		set := slices.Clone(alphabet)
		r.Shuffle(len(set), func(i, j int) { set[i], set[j] = set[j], set[i] })
		set = set[:2+r.IntN(4)]
		optional := r.IntN(3)
		in := func(int) any { return say(set) }
		if depth < 2 && (name == "below" || name == "things") {
			below := wordFamily(r, depth+1, say)
			in = func(id int) any { return below(id) }
		}
		members[name] = func(id int) any {
			switch {
			case optional == 1 && id%5 == 0:
				return missing{}
			case optional == 2 && id%5 == 0 && name != "byKey":
				return nil
			}
			switch name {
			case "roles", "things":
				out := make([]any, 1+id%2)
				for i := range out {
					out[i] = in(10*id + i)
				}
				return out
			case "byKey":
				return map[string]any{fmt.Sprint(1000 + id): in(id)}
			case "n":
				return id % 3
			}
			return in(id)
		}
	}
	return func(id int) map[string]any {
		out := map[string]any{"id": id}
		for name, f := range members {
			if v := f(id); v != (missing{}) {
				out[name] = v
			}
		}
		return out
	}
}

// TestWordsComeBackThroughTheGateway: of random families with words, the
// contract has enums, and whatever was seen becomes a call and a response with
// the same words; what has another word is the monolith's.
func TestWordsComeBackThroughTheGateway(t *testing.T) {
	const seen, asked = 420, 60
	enums, refused := 0, 0
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 12))
		odd, wrong := false, false
		family := wordFamily(r, 0, func(set []string) any {
			if odd && r.IntN(20) == 0 {
				wrong = true
				return []any{"opne", "in work", set[0] + "x", strings.ToUpper(set[0]) + "_", 1, true}[r.IntN(6)]
			}
			return set[r.IntN(len(set))]
		})
		var log []*capture.Entry
		for id := range seen {
			b := encoded(t, family(id))
			log = append(log, entry("POST", "/things", b, responding(b)))
		}
		c := learn(t, Options{}, log...)
		compiles(t, c)
		if again := learn(t, Options{Before: c}, log...); string(again.Proto()) != string(c.Proto()) {
			t.Fatalf("seed %d: a second run changed the contract:\n%s\n%s", seed, c.Proto(), again.Proto())
		}
		sameNumbers(t, c, learn(t, Options{Before: c}, log[:10]...))
		enums += len(c.Enums)
		tr := gatewayOf(t, c, &c.Methods[0])
		k, err := newChecker(c)
		if err != nil {
			t.Fatal(err)
		}
		for id := range asked {
			odd, wrong = id%2 == 1, false
			doc := encoded(t, family(id))
			call, err := tr.Request(&whittle.Request{Method: "POST", Target: "/things", Header: whittle.Header{"Content-Type": {"application/json"}}, Body: []byte(doc)})
			switch {
			case err != nil && !wrong:
				t.Fatalf("seed %d: %s: %v\n%s", seed, doc, err, c.Proto())
			case err != nil:
				refused++
				continue
			}
			// A field that is no enum has room for any text.
			in := k.mapping.types[c.Methods[0].Input]
			m, err := k.methods[0].request.read(parsed(t, doc), c.Methods[0].Input, "$")
			if err != nil {
				t.Fatalf("seed %d: %s became a call, %v\n%s", seed, doc, err, c.Proto())
			}
			want, err := proto.MarshalOptions{Deterministic: true}.Marshal(m.Interface())
			if err != nil {
				t.Fatal(err)
			}
			if got := ordered(t, in, call.Body); string(got) != string(want) {
				t.Fatalf("seed %d: %s became another call\n%s", seed, doc, c.Proto())
			}
			doc = responding(doc)
			a := tr.Response(&whittle.Response{Status: 200, Header: whittle.Header{"Content-Type": {"application/protobuf"}}, Body: responseOf(t, k, doc)})
			if a.Failure != whittle.NoFailure || !same(parsed(t, doc), parsed(t, string(a.Body))) {
				t.Fatalf("seed %d: %s came back as %s %s\n%s", seed, doc, a.Body, a.Detail, c.Proto())
			}
		}
	}
	t.Logf("%d enums, %d requests refused", enums, refused)
	if enums < 30 || refused < 50 {
		t.Errorf("only %d enums and %d refused requests", enums, refused)
	}
}

// responding is a response that says what the request said. With a member of its
// own it is another message.
func responding(doc string) string { return strings.TrimSuffix(doc, "}") + `,"responded":true}` }

func encoded(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func parsed(t *testing.T, doc string) *value {
	t.Helper()
	v, err := parse([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// gatewayOf is the gateway's translation for a method whose bodies are objects.
func gatewayOf(t *testing.T, c *contract.Contract, m *contract.Method) *transcode.Transcoder {
	t.Helper()
	set, err := c.Descriptor()
	if err != nil {
		t.Fatal(err)
	}
	descriptor, err := proto.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	u, asked := m.HTTP.Response.Unset, m.HTTP.Body.Unset
	tr, err := transcode.New(whittle.RPC{
		Protocol: whittle.Twirp, Descriptor: descriptor, Method: c.Package + "." + c.Service + "/" + m.Name,
		Words: wordsOf(c), Nulls: u.Nulls, Absent: u.Omits,
		Lossless: true, AskedNulls: asked.Nulls, AskedAbsent: asked.Omits,
	})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// ordered gives a message's bytes in one order.
func ordered(t *testing.T, d protoreflect.MessageDescriptor, b []byte) []byte {
	t.Helper()
	m := dynamicpb.NewMessage(d)
	if err := proto.Unmarshal(b, m); err != nil {
		t.Fatal(err)
	}
	out, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// responseOf is the message of a response on the wire.
func responseOf(t *testing.T, k *checker, doc string) []byte {
	t.Helper()
	m, err := k.methods[0].response.read(parsed(t, doc), k.methods[0].Output, "$")
	if err != nil {
		t.Fatal(err)
	}
	b, err := proto.Marshal(m.Interface())
	if err != nil {
		t.Fatal(err)
	}
	return b
}
