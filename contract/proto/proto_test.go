package proto

import (
	"errors"
	"io/fs"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"whittle"
	"whittle/contract"
	"whittle/internal/fatal"
	"whittle/whittletest"
)

const shop = `syntax = "proto3";
package shop.v1;
import "google/api/annotations.proto";
import "google/protobuf/timestamp.proto";
import "google/protobuf/struct.proto";
import "shop/v1/user.proto";
option go_package = "example.com/shop/v1;shopv1";

// ShopService sells.
service ShopService {
  // GetUser finds a user.
  rpc GetUser(GetUserRequest) returns (User) {
    option (google.api.http) = {get: "/v1/shops/{shop.id}/users/{user_id}"};
  }
  rpc UpdateUser(UpdateUserRequest) returns (UpdateUserResponse) {
    option (google.api.http) = {patch: "/v1/users/{user.id}", body: "user", response_body: "user"
      additional_bindings {post: "/v1/users", body: "*"}};
  }
  rpc Cancel(GetUserRequest) returns (User) {
    option (google.api.http) = {post: "/v1/{user_id=users/*}:cancel", body: "*"};
  }
  rpc Watch(GetUserRequest) returns (stream User);
  rpc Plain(User) returns (User);
}
message Shop { string id = 1; }
message GetUserRequest {
  Shop shop = 1;
  string user_id = 2;
  repeated string fields = 3;
  optional int32 page_size = 4;
  map<string, string> labels = 5;
}
message UpdateUserRequest { User user = 1; bool dry_run = 2; }
message UpdateUserResponse { User user = 1; }
`

const user = `syntax = "proto3";
package shop.v1;
import "google/protobuf/timestamp.proto";
import "google/protobuf/struct.proto";
// User is a person.
message User {
  reserved 3, 7 to 9;
  // id never changes.
  string id = 1;
  State state = 2;
  google.protobuf.Timestamp created = 4;
  google.protobuf.Value extra = 5 [json_name = "x-tra"];
  map<string, User> friends = 6;
  oneof contact { string mail = 10; uint32 phone = 11; }
  Address address = 12;
  message Address { string city = 1; }
  enum State { STATE_UNSPECIFIED = 0; STATE_OPEN = 1; }
}
`

// files reads from a map.
type files map[string]string

func (f files) read(path string) ([]byte, error) {
	text, ok := f[path]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return []byte(text), nil
}

var shopFiles = files{"shop/v1/shop.proto": shop, "shop/v1/user.proto": user}

func TestReadBindsHTTP(t *testing.T) {
	c, err := Read("shop/v1/shop.proto", "", shopFiles.read)
	fatal.If(t, err)
	type binding struct {
		Method, Pattern string
		Path, Query     []contract.Parameter
		Body            contract.BodyForm
		Field           string
		Response        contract.BodyForm
	}
	want := map[string]binding{
		"GetUser": {
			"GET", "/v1/shops/{shop_id}/users/{user_id}",
			[]contract.Parameter{{Name: "shop_id", Field: "shop.id"}, {Name: "user_id", Field: "user_id"}},
			[]contract.Parameter{{Name: "fields", Field: "fields"}, {Name: "pageSize", Field: "page_size"}},
			contract.NoBody, "", contract.Object,
		},
		"UpdateUser": {
			"PATCH", "/v1/users/{user_id}",
			[]contract.Parameter{{Name: "user_id", Field: "user.id"}},
			[]contract.Parameter{{Name: "dryRun", Field: "dry_run"}},
			contract.Whole, "user", contract.Whole,
		},
		"Cancel": {Method: "POST", Pattern: "/shop.v1.ShopService/Cancel", Body: contract.Object, Response: contract.Object},
		"Plain":  {Method: "POST", Pattern: "/shop.v1.ShopService/Plain", Body: contract.Object, Response: contract.Object},
	}
	got := map[string]binding{}
	for _, m := range c.Methods {
		h := m.HTTP
		got[m.Name] = binding{h.Method, h.Pattern, h.Path, h.Query, h.Body.Form, h.Body.Field, h.Response.Form}
	}
	fatal.Same(t, got, want, "")
	if c.Service != "ShopService" || c.Package != "shop.v1" || c.GoPackage != "example.com/shop/v1;shopv1" {
		t.Errorf("%s %s %s", c.Service, c.Package, c.GoPackage)
	}
	if len(c.Guesses) != 1 || c.Guesses[0].Path != "Watch" {
		t.Errorf("the method that streams is not mentioned: %+v", c.Guesses)
	}
	u := c.Message("User")
	if u == nil || u.Doc != "User is a person." || !reflect.DeepEqual(u.Reserved, []int32{3, 7, 8, 9}) {
		t.Errorf("User is %+v", u)
	}
	if c.Message("UserAddress") == nil || len(c.Enums) != 1 || c.Enums[0].Name != "UserState" {
		t.Errorf("nested declarations are %+v", c.Enums)
	}
}

// TestWhatIsWrittenIsReadTheSame sends a contract through its .proto file.
func TestWhatIsWrittenIsReadTheSame(t *testing.T) {
	first, err := Read("shop/v1/shop.proto", "", shopFiles.read)
	fatal.If(t, err)
	again, err := Read(first.FileName(), "", files{first.FileName(): string(first.Proto())}.read)
	if err != nil {
		t.Fatalf("%v\n%s", err, first.Proto())
	}
	for _, c := range []*contract.Contract{first, again} {
		c.Guesses = nil
		for i := range c.Methods {
			m := &c.Methods[i]
			m.HTTP, m.Guesses, m.Doc, m.Safe = contract.Binding{}, nil, "", false
		}
		for i := range c.Messages {
			c.Messages[i].Doc = ""
		}
	}
	// Of a oneof's members optional fields were made, in both.
	fatal.Same(t, first, again, "")
	a, errA := first.Descriptor()
	b, errB := again.Descriptor()
	if errA != nil || errB != nil || !proto.Equal(a, b) {
		t.Errorf("%v %v\n%s\n%s", errA, errB, prototext.Format(a), prototext.Format(b))
	}
}

func TestReadSaysWhatIsWrong(t *testing.T) {
	for _, tc := range []struct {
		name, file, want string
		code             whittle.Code
	}{
		{"syntax", "syntax = \"proto3\";\nmessage A {\n  int32 = 1;\n}", "a.proto:3:9: ", whittle.Invalid},
		{"no service", `syntax = "proto3"; message A {}`, "has no service", whittle.Invalid},
		{"import", `syntax = "proto3"; import "b.proto";`, "b.proto", whittle.Invalid},
		{"unknown type", "syntax = \"proto3\";\nservice S { rpc A(B) returns (B); }", "a.proto:2:", whittle.Invalid},
		{"proto2", "syntax = \"proto2\"; message B {} service S { rpc A(B) returns (B); }", "proto2", whittle.Unsupported},
		{"map keys", `syntax = "proto3"; message B {map<int32, string> m = 1;} service S { rpc A(B) returns (B); }`, "keys are int32", whittle.Unsupported},
		{"streams only", `syntax = "proto3"; message B {} service S { rpc A(stream B) returns (B); }`, "A was left out: it streams", whittle.Unsupported},
		{"deep", strings.Repeat("message A {", 200), "nests deeper", whittle.ResourceExhausted},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Read("a.proto", "", files{"a.proto": tc.file}.read)
			whittletest.Refused(t, err, tc.code, "", tc.want)
		})
	}
}

func TestAServiceIsChosenByName(t *testing.T) {
	f := files{"a.proto": `syntax = "proto3"; message B {} message C {} service S { rpc A(B) returns (B); } service T { rpc A(C) returns (C); }`}
	for name, want := range map[string]string{"": "S", "S": "S", "T": "T"} {
		c, err := Read("a.proto", name, f.read)
		if err != nil || c.Service != want || len(c.Messages) != 1 || len(c.Guesses) != 1 || !strings.Contains(c.Guesses[0].Evidence, "--service "+c.Guesses[0].Path) {
			t.Errorf("%q: %+v, %v", name, c, err)
		}
	}
	_, err := Read("a.proto", "U", f.read)
	if e, ok := errors.AsType[*whittle.Error](err); !ok || e.Code != whittle.NotFound || e.Hint != "it has: S, T" {
		t.Errorf("got %v", err)
	}
}

func TestOnlyWhatIsImportedIsRead(t *testing.T) {
	long := "syntax = \"proto3\"; " + strings.Repeat("// words\n", maxBytes/9)
	f := files{"a.proto": `syntax = "proto3"; message B {} service S { rpc A(B) returns (B); }`, "long.proto": long, "b.proto": `syntax = "proto3"; import "long.proto";`}
	if _, err := Read("a.proto", "", f.read); err != nil {
		t.Error(err)
	}
	_, err := Read("b.proto", "", f.read)
	whittletest.Refused(t, err, whittle.ResourceExhausted, "", "with what it imports")
}

// FuzzRead holds that whatever is read can be written and read again.
func FuzzRead(f *testing.F) {
	f.Add([]byte(user + "service S { rpc A(User) returns (User); }"))
	f.Add([]byte("syntax = \"proto3\"; message B {int32 a_b = 1; int32 aB_c = 2 [json_name=\"\\\"\\n\"];} service S { rpc A(B) returns (B); }"))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := Read("a.proto", "", files{"a.proto": string(b)}.read)
		if err != nil {
			return
		}
		if _, err := Read("b.proto", "", files{"b.proto": string(c.Proto())}.read); err != nil {
			t.Fatalf("%v\n%s", err, c.Proto())
		}
	})
}

// What is nested may have the names of what is nested elsewhere; a contract is flat.
func TestEnumsMayShareTheirNames(t *testing.T) {
	const text = `syntax = "proto3";
package shop.v1;
import "google/protobuf/type.proto";
service Shop { rpc Get(Order) returns (Parcel); }
message Order {
  enum State { STATE_UNSPECIFIED = 0; ACTIVE = 1; }
  State state = 1;
  google.protobuf.Type type = 2;
}
message Parcel {
  enum State { STATE_UNSPECIFIED = 0; LOST = 5; }
  State state = 1;
  Order order = 2;
}
`
	c, err := Read("shop.proto", "", files{"shop.proto": text}.read)
	fatal.If(t, err)
	want := []contract.Enum{
		{Name: "OrderState", Values: []contract.EnumValue{{Name: "STATE_UNSPECIFIED", JSON: "STATE_UNSPECIFIED"}, {Name: "ACTIVE", JSON: "ACTIVE", Number: 1}}},
		{Name: "ParcelState", Values: []contract.EnumValue{
			{Name: "PARCEL_STATE_STATE_UNSPECIFIED", JSON: "STATE_UNSPECIFIED"}, {Name: "PARCEL_STATE_LOST", JSON: "LOST", Number: 5},
		}},
	}
	fatal.Same(t, c.Enums, want, "")
	if len(c.Methods) != 1 || len(c.Methods[0].Guesses) != 1 || !strings.Contains(c.Methods[0].Guesses[0].Evidence, "Twirp has the new ones") {
		t.Errorf("got %+v", c.Methods)
	}
}

// What one method reaches and a contract cannot hold costs that method alone.
func TestAMethodOfAnotherSyntaxIsLeftOut(t *testing.T) {
	c, err := Read("a.proto", "", files{
		"a.proto":   `syntax = "proto3"; import "old.proto"; message B {} message C { enum E { NONE = 0; } E e = 1; Old old = 2; } service S { rpc First(C) returns (B); rpc Second(B) returns (B); }`,
		"old.proto": `syntax = "proto2"; message Old { optional string name = 1; }`,
	}.read)
	fatal.If(t, err)
	if len(c.Methods) != 1 || c.Methods[0].Name != "Second" || len(c.Messages) != 1 || len(c.Enums) != 0 {
		t.Errorf("got %+v", c)
	}
	if len(c.Guesses) != 1 || c.Guesses[0].Path != "First" || !strings.Contains(c.Guesses[0].Evidence, "Old is declared in proto2") {
		t.Errorf("got %+v", c.Guesses)
	}
}
