package contract

import (
	"reflect"
	"strings"
	"testing"

	"whittle/internal/fatal"
)

func TestNames(t *testing.T) {
	for in, want := range map[string][2]string{
		"userId":        {"user_id", "UserId"},
		"HTTPServer_v2": {"http_server_v2", "HttpServerV2"},
		"first-name":    {"first_name", "FirstName"},
		"2fa":           {"f_2fa", "T2fa"},
		"":              {"field", "Thing"},
		"ä ö":           {"field", "Thing"},
		"__x__":         {"x", "X"},
	} {
		if f, m := FieldName(in), TypeName(in); f != want[0] || m != want[1] {
			t.Errorf("%q: got %s and %s, want %v", in, f, m, want)
		}
	}
	if n := FieldName(strings.Repeat("long_", 40)); len(n) > maxName || strings.HasSuffix(n, "_") {
		t.Errorf("%s", n)
	}
	for in, want := range map[string]string{
		"users": "user", "categories": "category", "boxes": "box", "addresses": "address", "status": "status", "address": "address",
		"people": "person", "Children": "Child", "news": "news", "bus": "bus", "s": "s", "sum": "sum", "analysis": "analysis",
	} {
		fatal.Same(t, Singular(in), want, "one of %q", in)
	}
	for in, want := range map[string]string{"user_id": "userId", "f_2fa": "f2fa", "a": "a", "a_b_c": "aBC"} {
		fatal.Same(t, DefaultJSON(in), want, "%q in JSON", in)
	}
}

func TestProto(t *testing.T) {
	c := &Contract{
		Package: "shop.v1", Service: "ShopService", GoPackage: "example.com/shop/v1;shopv1",
		Methods: []Method{{Name: "GetUser", HTTP: Binding{Method: "GET", Pattern: "/users/{id}"}, Input: "GetUserRequest", Output: "User"}},
		Messages: []Message{
			{Name: "GetUserRequest", Fields: []Field{{Name: "id", Number: 1, Type: Int64}}},
			{Name: "User", Doc: "User is one.\x00 */", Reserved: []int32{2, 4}, Fields: []Field{
				{Name: "name", JSON: "na\"me\n", Number: 1, Type: String, Optional: true, Doc: strings.Repeat("word ", 20)},
				{Name: "tags", JSON: "tags", Number: 3, Type: EnumType, Ref: "Tag", Repeated: true},
				{Name: "more", JSON: "more", Number: 5, Type: Value, Optional: true},
				{Name: "by_id", JSON: "byId", Number: 6, Type: MessageType, Ref: "User", Map: true},
			}},
		},
		Enums: []Enum{{Name: "Tag", Values: []EnumValue{{Name: "TAG_UNSPECIFIED"}, {Name: "TAG_OPEN", JSON: "open", Number: 1}}}},
	}
	const want = `syntax = "proto3";

package shop.v1;

import "google/protobuf/struct.proto";

option go_package = "example.com/shop/v1;shopv1";

// ShopService serves what 1 endpoint of the monolith served.
service ShopService {
  // GetUser is GET /users/{id}.
  rpc GetUser(GetUserRequest) returns (User);
}

// GetUserRequest has 1 field.
message GetUserRequest {
  int64 id = 1;
}

// User is one. */
message User {
  reserved 2, 4;
  // word word word word word word word word word word word word word word word
  // word word word word word
  optional string name = 1 [json_name = "na\"me\012"];
  repeated Tag tags = 3;
  google.protobuf.Value more = 5;
  map<string, User> by_id = 6;
}

// Tag has 1 word.
enum Tag {
  TAG_UNSPECIFIED = 0;
  // "open"
  TAG_OPEN = 1;
}
`
	fatal.Same(t, string(c.Proto()), want, "")
	set, err := c.Descriptor()
	if err != nil || len(set.File) != 2 || set.File[1].GetName() != "shop/v1/shop.proto" {
		t.Errorf("%v %v", set, err)
	}
	c.Messages[1].Fields[1].Ref = "Missing"
	if _, err := c.Descriptor(); err == nil || !strings.Contains(err.Error(), "Missing") {
		t.Errorf("a type that does not exist: %v", err)
	}
}

// TestTypesAreFoundFromTheRoot where the message or the package has something else of their
// name: the entry of a map field, or a part that is called google.
func TestTypesAreFoundFromTheRoot(t *testing.T) {
	for _, pkg := range []string{"shop.v1", "a.google", "google.v1", ""} {
		c := &Contract{
			Package: pkg, Service: "ShopService",
			Messages: []Message{
				{Name: "In", Fields: []Field{
					{Name: "by_id", Number: 1, Type: String, Map: true},
					{Name: "entry", Number: 2, Type: MessageType, Ref: "ByIdEntry"},
					{Name: "kinds", Number: 3, Type: EnumType, Ref: "ByIdEntryEntry", Map: true},
					{Name: "any", Number: 4, Type: Value},
					{Name: "by_id_entry", Number: 5, Type: EnumType, Ref: "ByIdEntryEntry", Map: true},
				}},
				{Name: "ByIdEntry", Fields: []Field{{Name: "key", Number: 1, Type: MessageType, Ref: "ByIdEntry"}}},
			},
			Enums:   []Enum{{Name: "ByIdEntryEntry", Values: []EnumValue{{Name: "UNSPECIFIED"}}}},
			Methods: []Method{{Name: "M", Input: "In", Output: "ByIdEntry"}},
		}
		set, err := c.Descriptor()
		if err != nil {
			t.Errorf("package %q: %v", pkg, err)
			continue
		}
		root := strings.TrimSuffix("."+pkg, ".")
		in := set.File[len(set.File)-1].MessageType[0]
		for i, want := range map[int]string{1: root + ".ByIdEntry", 3: ".google.protobuf.Value"} {
			fatal.Same(t, in.Field[i].GetTypeName(), want, "package %q: field %s", pkg, in.Field[i].GetName())
		}
	}
}

// TestEnumWords holds that every word has a value of its own, by a name that no
// compiler takes for another's, and that none is read as the unspecified one.
func TestEnumWords(t *testing.T) {
	taken := map[string]bool{"ORDER_STATE_OPEN": true}
	is := func(s string) bool { return taken[s] }
	e := NewEnum("OrderState", is)
	words := []string{"open", "in-work", "inWork", "IN_WORK", "in-work2", "unspecified", "2fa", "ä", "open"}
	for _, w := range append(words, "") {
		e.Add(w, is)
	}
	names := []string{}
	for i, v := range e.Values {
		names = append(names, v.Name)
		if int(v.Number) != i || v.JSON != "" && e.Value(v.JSON) != &e.Values[i] {
			t.Errorf("value %d is %+v", i, v)
		}
	}
	want := []string{
		"ORDER_STATE_UNSPECIFIED", "ORDER_STATE_OPEN_2", "ORDER_STATE_IN_WORK", "ORDER_STATE_IN_WORK_2", "ORDER_STATE_IN_WORK_3",
		"ORDER_STATE_IN_WORK2_2", "ORDER_STATE_UNSPECIFIED_2", "ORDER_STATE_F_2FA", "ORDER_STATE_FIELD",
	}
	if !reflect.DeepEqual(names, want) || !reflect.DeepEqual(e.Words(), words[:8]) {
		t.Errorf("got  %v of %v\nwant %v", names, e.Words(), want)
	}
	if e.Value("") != nil || e.Value("ORDER_STATE_UNSPECIFIED") != nil {
		t.Error("what is no word has a value")
	}
	later := Enum{Name: "OrderState", Values: []EnumValue{{Name: "ORDER_STATE_UNSPECIFIED"}, {Name: "ORDER_STATE_X", JSON: "x", Number: 7}}}
	later.Add("y", is)
	if v := later.Value("y"); v == nil || v.Number != 8 {
		t.Errorf("a word that came later is %+v", v)
	}
	if c := (&Contract{Enums: []Enum{e}}); c.Enum("OrderState") != &c.Enums[0] || c.Enum("x") != nil {
		t.Error("an enum is not found by its name")
	}
}
