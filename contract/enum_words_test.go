package contract

import (
	"reflect"
	"testing"
)

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
		if int(v.Number) != i || e.Number(v.Number) != &e.Values[i] || v.JSON != "" && e.Value(v.JSON) != &e.Values[i] {
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
	if e.Value("") != nil || e.Value("ORDER_STATE_UNSPECIFIED") != nil || e.Number(99) != nil {
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
