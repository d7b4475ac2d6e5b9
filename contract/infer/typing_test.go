package infer

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"whittle/contract"
	"whittle/contract/infer/verify"
	"whittle/internal/fatal"
	"whittle/record/capture"
)

// describe writes a field as the .proto file has it, with how its absence is written.
func describe(c *contract.Contract, m *contract.Method, message, json string) string {
	for _, f := range c.Message(message).Fields {
		if f.JSON != json {
			continue
		}
		s := string(f.Type)
		if f.Ref != "" {
			s = f.Ref
		}
		if f.Map {
			s = "map " + s
		}
		if f.Repeated {
			s = "repeated " + s
		}
		if f.Optional {
			s = "optional " + s
		}
		for _, p := range m.HTTP.Response.Unset.Nulls {
			if strings.HasSuffix(p, "."+json) {
				s += " null"
			}
		}
		for _, p := range m.HTTP.Response.Unset.Omits {
			if strings.HasSuffix(p, "."+json) {
				s += " omitted"
			}
		}
		return s
	}
	return "none"
}

func TestTypes(t *testing.T) {
	for _, tc := range []struct {
		values string // members "x", one response each; - is a response without it
		want   string
	}{
		{"1 | 2 | 300", "int32"},
		{"500047951 | 1", "int64"},
		{"-5 | 5", "int32"},
		{"9223372036854775808", "uint64"},
		{"9007199254740993 | 7", "int64"},
		{"5 | 5.5", "double"},
		{"5.0 | 6", "double"},
		{"123456789012345680000", "double"},
		{"true | false", "bool"},
		{`"a" | ""`, "string"},
		{`"0012" | "12"`, "string"},
		{`1 | "1"`, "google.protobuf.Value"},
		{"1 | -", "optional int32"},
		{"1 | null", "optional int32 null"},
		{"1 | null | -", "optional google.protobuf.Value"},
		{"null", "optional google.protobuf.Value"},
		{"[1] | [2,3]", "repeated int32"},
		{"[1] | []", "repeated int32"},
		{"[1] | -", "repeated int32 omitted"},
		{"[1] | null", "repeated int32 null"},
		{"[1] | [] | -", "optional google.protobuf.Value"},
		{"[]", "repeated google.protobuf.Value"},
		{`[1, "a"] | []`, "repeated google.protobuf.Value"},
		{"[1, null]", "repeated google.protobuf.Value"},
		{"[[1], [2]]", "repeated google.protobuf.Value"},
		{`{"a": 1, "b": 2} | {"a": 2, "b": 3}`, "X"},
		{`{"a": 1, "b": 2} | null`, "optional X null"},
		{`{}`, "google.protobuf.Value"},
		{`{"101": 1, "102": 2} | {"17": 3}`, "map int32"},
		{`{"2024-01-01": {"a": 1}, "2024-01-02": {"a": 2}}`, "map X"},
		{`{"1": [1]}`, "map google.protobuf.Value"},
		{`{"2026-03": 1, "2026-11": 2} | {"2026-03": 4}`, "map int32"},
		{`{"": 1}`, "map int32"},
	} {
		t.Run(tc.values, func(t *testing.T) {
			var log []*capture.Entry
			for v := range strings.SplitSeq(tc.values, " | ") {
				member := fmt.Sprintf(`,"x":%s`, v)
				if v == "-" {
					member = ""
				}
				log = append(log, entry("GET", "/a", "", `{"here":true`+member+`}`))
			}
			c := learn(t, Options{}, log...)
			fatal.Same(t, describe(c, &c.Methods[0], "GetAResponse", "x"), tc.want, "%s", c.Proto())
		})
	}
}

// TestNumbersThatNoMessageHolds: with more digits than a double has, with
// others, the response is one text, and the guesses say so.
func TestNumbersThatNoMessageHolds(t *testing.T) {
	c := learn(t, Options{}, entry("GET", "/a", "", `{"x":0.12345678901234567890}`), entry("GET", "/a", "", `{"x":1,"x2":2}`))
	m := methodOf(t, c, "GetA")
	if a := m.HTTP.Response; a.Form != contract.Text || a.ContentType != "application/json" || !reflect.DeepEqual(a.Parts, []contract.Part{{Field: "text"}}) {
		t.Errorf("%+v", a)
	}
	if g := m.Guesses[0]; !strings.Contains(g.Evidence, "more digits") {
		t.Errorf("%+v", g)
	}
	for _, odd := range []string{`{"a":1,"a":2}`, `"\ud800"`, `{"a":`} {
		if m := learn(t, Options{}, entry("GET", "/a", "", odd)).Methods[0]; m.HTTP.Response.Form != contract.Text {
			t.Errorf("%s: %+v", odd, m.HTTP.Response)
		}
	}
}

func TestTheSameStructureIsOneMessage(t *testing.T) {
	user := func(i int, more string) string {
		return fmt.Sprintf(`{"id":%d,"name":"n%d","address":{"city":"x","zip":"y"}%s}`, i, i, more)
	}
	c := learn(t, Options{},
		entry("GET", "/users", "", "["+user(1, `,"phone":"1"`)+","+user(2, "")+"]"),
		entry("GET", "/users/1", "", user(1, "")),
		entry("GET", "/orders/1", "", `{"id":1,"buyer":`+user(1, "")+`,"total":9.5}`),
	)
	for message, want := range map[string]string{"ListUsersResponse": "repeated User", "GetUserResponse": "User", "GetOrderResponse": "User"} {
		f := c.Message(message).Fields
		got := ""
		for _, f := range f {
			if f.Type == contract.MessageType {
				got = f.Ref
				if f.Repeated {
					got = "repeated " + got
				}
			}
		}
		if got != want && (message != "GetOrderResponse" || got == "") {
			t.Errorf("%s has %s, want %s\n%s", message, got, want, c.Proto())
		}
	}
	fatal.Same(t, describe(c, methodOf(t, c, "GetUser"), "User", "phone"), "optional string", "phone")
}

func TestNamesThatAreNone(t *testing.T) {
	c := learn(t, Options{}, entry("GET", "/a", "", `{"userId":1,"user_id":2,"2fa":3,"UserID":4,"odd key":5,"ä":6,"user_id_2":7,"\u2028":8}`))
	compiles(t, c)
	names := map[string]bool{}
	for _, f := range c.Message("GetAResponse").Fields {
		names[f.Name] = true
		if f.JSON == "user_id" && f.Name != "user_id" {
			t.Errorf("%s is called %s", f.JSON, f.Name)
		}
	}
	fatal.Same(t, len(names), 8, "%v", names)
}

func TestBoundsHold(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 29) + "1" + strings.Repeat("}", 29)
	wide := `{"k0":1`
	for i := range 1000 {
		wide += fmt.Sprintf(`,"name%c%c":%d`, 'a'+i%26, 'a'+i/26, i)
	}
	log := []*capture.Entry{entry("GET", "/deep", "", deep), entry("GET", "/wide", "", wide+"}"), entry("GET", "/deeper", "", strings.Repeat("[", 100)+strings.Repeat("]", 100))}
	for i := range 300 {
		log = append(log, entry("GET", fmt.Sprintf("/e%c%c", 'a'+i%26, 'a'+i/26), "", fmt.Sprintf(`{"f%d":1}`, i)))
	}
	c := learn(t, Options{Limits: Limits{Endpoints: 10, Nodes: 200, Depth: 4}}, log...)
	if len(c.Methods) != 10 || len(c.Guesses) == 0 {
		t.Errorf("%d methods, %+v", len(c.Methods), c.Guesses)
	}
}

// orders are responses of one endpoint, each about n orders, whose word is drawn by f.
func orders(calls, n int, f func(i int) string) []*capture.Entry {
	var log []*capture.Entry
	for c := range calls {
		items := make([]string, n)
		for j := range items {
			i := c*n + j
			items[j] = fmt.Sprintf(`{"id":%d,"cents":%d,%s}`, 1000+i, i%7, f(i))
		}
		log = append(log, entry("GET", fmt.Sprintf("/orders?page=%d", c), "", `{"orders":[`+strings.Join(items, ",")+`]}`))
	}
	return log
}

// cycle draws words in turn.
func cycle(name string, words ...string) func(int) string {
	return func(i int) string { return fmt.Sprintf("%q:%q", name, words[i%len(words)]) }
}

// typeOfOrder is the type of a member of the order in a contract.
func typeOfOrder(t *testing.T, c *contract.Contract, json string) string {
	t.Helper()
	return describe(c, methodOf(t, c, "ListOrders"), "Order", json)
}

// declared is a contract with an enum for the order's state, and one in the method's query.
func declared(t *testing.T) *contract.Contract {
	t.Helper()
	log := orders(40, 10, cycle("state", "open", "closed"))
	for i, x := range log {
		x.Request.Target += "&sort=" + []string{"asc", "desc"}[i%2]
	}
	c := learn(t, Options{}, log...)
	if got := typeOfOrder(t, c, "state"); got != "string" || len(c.Enums) != 0 {
		t.Fatalf("of words that were seen it is made %s, %+v", got, c.Enums)
	}
	none := func(string) bool { return false }
	for _, e := range []struct{ name, message, field, words string }{
		{"OrderState", "Order", "state", "closed open paused"}, {"Sort", methodOf(t, c, "ListOrders").Input, "sort", "asc desc"},
	} {
		enum := contract.NewEnum(e.name, none)
		for w := range strings.FieldsSeq(e.words) {
			enum.Add(w, none)
		}
		c.Enums = append(c.Enums, enum)
		f := c.Message(e.message).Field(e.field)
		f.Type, f.Ref, f.Optional = contract.EnumType, e.name, e.field == "sort"
	}
	compiles(t, c)
	return c
}

// TestDeclaredEnumsStay holds that an enum of the earlier contract stays while
// every word is one of its words, and that it becomes a string with a number of
// its own where one is not.
func TestDeclaredEnumsStay(t *testing.T) {
	before := declared(t)
	for _, c := range []struct {
		name         string
		log          []*capture.Entry
		state, query string
	}{
		{"known words", orders(1, 2, cycle("state", "open", "paused")), "OrderState", "optional Sort"},
		{"not seen", []*capture.Entry{entry("GET", "/orders?page=1", "", `{"orders":[{"id":1,"cents":1}]}`)}, "optional OrderState", "optional Sort"},
		{"null", orders(1, 2, func(int) string { return `"state":null` }), "optional OrderState null", "optional Sort"},
		{"a new word", orders(1, 2, cycle("state", "open", "lost")), "string", "optional Sort"},
		{"no word", orders(1, 2, cycle("state", "open", "in two minds")), "string", "optional Sort"},
		{"a new word in the query", []*capture.Entry{entry("GET", "/orders?page=1&sort=up", "", `{"orders":[{"id":1,"cents":1,"state":"open"}]}`)}, "OrderState", "optional string"},
	} {
		after := learn(t, Options{Before: before}, c.log...)
		compiles(t, after)
		sameNumbers(t, before, after)
		m := methodOf(t, after, "ListOrders")
		fatal.Same(t, typeOfOrder(t, after, "state"), c.state, "%s: the state in\n%s", c.name, after.Proto())
		fatal.Same(t, describe(after, m, m.Input, "sort"), c.query, "%s: the query's in\n%s", c.name, after.Proto())
	}
}

// TestCheckReadsWords holds that the proof reads an enum by its words alone.
func TestCheckReadsWords(t *testing.T) {
	c := declared(t)
	for word, kept := range map[string]int{"open": 1, "opened": 0, "ORDER_STATE_OPEN": 0} {
		p, err := verify.Check(of(orders(1, 1, cycle("state", word))...), c)
		if err != nil || p.Kept != kept {
			t.Errorf("%s: %+v, %v", word, p, err)
		}
	}
	fatal.Same(t, c.Enum("OrderState").Words(), []string{"closed", "open", "paused"}, "%+v", c.Enums)
}
