package expr

import "testing"

// TestProjectionsAreOfTheirKind: what is projected and is no list, or no map, is null, as the
// JMESPath specification has it, and so is what a function makes of that.
func TestProjectionsAreOfTheirKind(t *testing.T) {
	doc, _ := ParseDocument(`{"map": {"a": 1, "b": [2]}, "list": [1, [2, 3], {"k": "v"}], "text": "abc"}`)
	for src, want := range map[string]string{
		"map.*": `[1,[2]]`, "list.*": "", "map[*]": "", "map[]": "", "map[?a]": "", "map[0:1]": "", "text[*]": "",
		"list[]": `[1,2,3,{"k": "v"}]`, "list[*].k": `["v"]`, "list[?k == 'v']": `[{"k": "v"}]`, "list[0:1]": "[1]", "list[-1].k": `"v"`,
		"contains(map[*], `1`)": "", "contains(map, `1`)": "", "contains(list, `1`)": "true", "contains(text, 'b')": "true", "length(list.*)": "", "length(map)": "2",
		"map[*] || 'none'": `"none"`,
	} {
		path, err := CompileJMESPath(src)
		if err != nil {
			t.Errorf("%s: %v", src, err)
			continue
		}
		got := ""
		if d := path(doc); d != nil {
			got = d.Value().JSON
		}
		if got != want {
			t.Errorf("%s: %q, want %q", src, got, want)
		}
	}
}
