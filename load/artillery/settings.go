package artillery

import (
	"math/rand/v2"
	"os"
	"regexp"
	"strings"

	"whittle"
	"whittle/load/expr"
	"whittle/load/plan"
)

// assemble makes one tree of the plan's file and of what was given with it, in the
// order of Artillery: the file with the config, the environment, the target, overrides
// and variables; then the expressions of the config are written out, since they are the
// same for all users.
func (r *reader) assemble(root *node) *node {
	root.mapping("a plan is a mapping")
	if path := r.Source.Config; path != "" {
		src, err := r.Source.ReadFile("config", path, plan.MaxBytes)
		whittle.Check(err)
		root = overlay(root, parseTree(path, src), true)
	}
	if name := r.Source.Environment; name != "" {
		root = r.withEnvironment(root, name)
	}
	if text := r.Source.Overrides; text != "" {
		root = overlay(root, parseTree("--overrides", []byte(text)), false)
	}
	var given *node
	if text := r.Source.Variables; text != "" {
		given = parseTree("--variables", []byte(text))
		given.mapping("variables are a mapping")
		all := &node{Position: given.Position, kind: expr.KindMap, fields: []field{{"variables", given.Position, given}}}
		root = overlay(root, &node{Position: given.Position, kind: expr.KindMap, fields: []field{{"config", given.Position, all}}}, false)
	}
	r.given = given
	whole := *root
	whole.fields = append([]field(nil), root.fields...)
	for i := range whole.fields {
		if f := &whole.fields[i]; f.name == "config" {
			f.value = r.written(f.value)
		}
	}
	return &whole
}

func (r *reader) withEnvironment(root *node, name string) *node {
	config := root.get("config")
	if config == nil {
		config = &node{Position: root.Position, kind: expr.KindMap}
	}
	var chosen *node
	if all := config.get("environments"); all != nil && all.kind == expr.KindMap {
		chosen = all.get(name)
	}
	if chosen == nil {
		r.note(config, "the plan has no environment %q: its config stays as it is, as for Artillery", name)
		return root
	}
	return overlay(root, &node{Position: config.Position, kind: expr.KindMap, fields: []field{{"config", config.Position, chosen}}}, true)
}

// overlay puts one mapping over another, and so their mappings and, where items says so,
// the items of their lists; anything else is replaced whole.
func overlay(under, over *node, items bool) *node {
	if over == nil || over.kind == expr.KindNull && items || under == nil {
		return under
	}
	switch {
	case under.kind == expr.KindMap && over.kind == expr.KindMap:
	case items && under.kind == expr.KindList && over.kind == expr.KindList:
		both := *under
		both.items = append([]*node(nil), under.items...)
		for i, item := range over.items {
			if i < len(both.items) {
				both.items[i] = overlay(both.items[i], item, items)
			} else {
				both.items = append(both.items, item)
			}
		}
		return &both
	default:
		return over
	}
	both := *under
	both.fields = append([]field(nil), under.fields...)
next:
	for _, f := range over.fields {
		for i := range both.fields {
			if both.fields[i].name == f.name {
				f.value = overlay(both.fields[i].value, f.value, items)
				both.fields[i] = f
				continue next
			}
		}
		both.fields = append(both.fields, f)
	}
	return &both
}

// written is a setting with its expressions written out. One that has no value is left
// out where it stands alone, and undefined in a text; the report says so.
func (r *reader) written(n *node) *node {
	out := *n
	switch n.kind {
	case expr.KindMap:
		out.fields = nil
		for _, f := range n.fields {
			if f.name == "environments" {
				continue
			}
			if f.name == "cookie" && f.value.kind == expr.KindMap {
				f.value = r.writtenCookies(f.value)
			}
			if f.value = r.written(f.value); f.value != nil {
				out.fields = append(out.fields, f)
			}
		}
	case expr.KindList:
		out.items = nil
		for _, item := range n.items {
			if item = r.written(item); item == nil {
				item = &node{Position: n.Position}
			}
			out.items = append(out.items, item)
		}
	case expr.KindString:
		if strings.Contains(n.text, "{{") {
			return r.writtenText(n)
		}
	default:
	}
	return &out
}

// writtenCookies is the same of cookies. One without a value is sent as undefined.
func (r *reader) writtenCookies(n *node) *node {
	out := *n
	out.fields = nil
	for _, f := range n.fields {
		at := f.value.Position
		if f.value = r.written(f.value); f.value == nil {
			f.value = &node{Position: at, kind: expr.KindString, text: "undefined"}
		}
		out.fields = append(out.fields, f)
	}
	return &out
}

func (r *reader) writtenText(n *node) *node {
	if name, sole := soleVariable(n.text); sole {
		v := r.setting(n, name)
		if v.JSON == "" {
			return nil
		}
		made, err := jsonNode(v.JSON, n.Position)
		whittle.Check(err)
		return made
	}
	text := n.text
	if r.callsNothing(n, text) {
		return nil
	}
	for range maxNested {
		if m := functionCall.FindStringSubmatchIndex(text); m != nil {
			name, args, err := call(text[m[2]:m[3]])
			if err != nil {
				panic(n.Invalid("%v", err))
			}
			value := r.builtin(n, text[m[2]:m[3]], name, args)(&expr.Scope{RNG: rand.New(rand.NewPCG(rand.Uint64(), 1))})
			text = text[:m[0]] + value.Text + text[m[1]:]
			continue
		}
		m := variablePattern.FindStringIndex(text)
		if m == nil {
			break
		}
		v := r.setting(n, strings.TrimSpace(strings.Trim(text[m[0]:m[1]], "{}")))
		if v.JSON == "" {
			v.Text = "undefined"
		}
		text = text[:m[0]] + v.Text + text[m[1]:]
	}
	out := *n
	out.text = text
	return &out
}

// maxNested bounds how often the value of an expression may have expressions in it.
const maxNested = 1000

var (
	functionCall    = regexp.MustCompile(`{{\s*(\$[A-Za-z0-9_]+\s*\(\s*[A-Za-z0-9_,\s]*\s*\))\s*}}`)
	variablePattern = regexp.MustCompile(`{{{?[\s$\w.\[\]'"-]+}}}?`)
)

// soleVariable is the name in a text that is one expression and nothing else.
func soleVariable(text string) (string, bool) {
	if m := variablePattern.FindStringIndex(text); m == nil || m[0] != 0 || m[1] != len(text) {
		return "", false
	}
	return strings.TrimSpace(strings.NewReplacer("{", "", "}", "").Replace(text)), true
}

// setting is the value that a name has in the config: of the environment, and of
// --variables.
func (r *reader) setting(n *node, name string) expr.Value {
	if v, ok := r.fixedWord(name); ok {
		return v
	}
	path := expr.SplitPath(name)
	if r.given != nil && len(path) > 0 {
		if first := r.given.get(path[0]); first != nil {
			if d, ok := expr.ParseDocument(string(first.appendJSON(nil))); ok && d.Walk(path[1:]) != nil {
				return d.Walk(path[1:]).Value()
			}
		}
	}
	r.note(n, "{{ %s }} is not known in the config, which is written out before any user has variables, as by Artillery: it is undefined", name)
	return expr.Value{}
}

// target is the plan's base URL as its scripts see it.
func (r *reader) target() string {
	if r.Source.Target != "" {
		return r.Source.Target
	}
	return r.Plan.Target
}

// wellKnown are the variables that every user has.
func (r *reader) wellKnown() map[string]expr.Value {
	out := map[string]expr.Value{"target": expr.TextValue(r.target()), "$testId": expr.TextValue(r.testID)}
	if r.Source.Environment != "" {
		out["$environment"] = expr.TextValue(r.Source.Environment)
	}
	if r.Source.Folder != "" {
		out["$dirname"] = expr.TextValue("/")
		out["$scenarioFile"] = expr.TextValue("/" + r.Plan.Name[strings.LastIndexByte(r.Plan.Name, os.PathSeparator)+1:])
	}
	return out
}
