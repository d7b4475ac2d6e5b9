package infer

import (
	"testing"

	"whittle/contract"
)

// sameNumbers holds a contract to what an earlier one promised: a number never
// stands for something else.
func sameNumbers(t *testing.T, before, after *contract.Contract) {
	t.Helper()
	for _, m := range before.Messages {
		now := after.Message(m.Name)
		if now == nil {
			continue // nothing refers to it any more: the field that did is reserved
		}
		reserved := map[int32]bool{}
		for _, n := range now.Reserved {
			reserved[n] = true
		}
		for _, n := range m.Reserved {
			if !reserved[n] {
				t.Fatalf("%s forgot that %d is reserved", m.Name, n)
			}
		}
		for _, f := range m.Fields {
			var is *contract.Field
			for i := range now.Fields {
				if now.Fields[i].Number == f.Number {
					is = &now.Fields[i]
				}
			}
			switch {
			case is == nil && !reserved[f.Number]:
				t.Fatalf("%s lost %s = %d:\n%s\n%s", m.Name, f.Name, f.Number, before.Proto(), after.Proto())
			case is == nil:
			case is.Name != f.Name || is.JSONName() != f.JSONName():
				t.Fatalf("%s.%s = %d is %s now", m.Name, f.Name, f.Number, is.Name)
			case is.Type != f.Type && (f.Type != contract.Int32 || is.Type != contract.Int64) || is.Repeated != f.Repeated || is.Map != f.Map || is.Ref != f.Ref:
				t.Fatalf("%s.%s = %d was %+v and is %+v", m.Name, f.Name, f.Number, f, *is)
			}
		}
	}
}
