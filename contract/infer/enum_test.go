package infer

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"whittle/contract"
	"whittle/contract/infer/verify"
	"whittle/record/capture"
)

// orders are responses of one endpoint, each about n orders of their own, whose
// word is drawn by f.
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

// declared is a contract whose order has a declared enum for its state, and
// whose method takes one in its query.
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
		if got := typeOfOrder(t, after, "state"); got != c.state {
			t.Errorf("%s: the state is %s, want %s\n%s", c.name, got, c.state, after.Proto())
		}
		if got := describe(after, m, m.Input, "sort"); got != c.query {
			t.Errorf("%s: the query's is %s, want %s\n%s", c.name, got, c.query, after.Proto())
		}
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
	if !slices.Equal(c.Enum("OrderState").Words(), []string{"closed", "open", "paused"}) {
		t.Errorf("%+v", c.Enums)
	}
}
