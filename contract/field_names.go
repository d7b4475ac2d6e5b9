package contract

// FieldNames gives the fields of one message their names. No name is another
// field's name in JSON, nor do two have the same default name in JSON: compilers
// refuse the one, and readers that accept both names mistake the other.
type FieldNames struct{ names, camel, keys map[string]bool }

// NewFieldNames knows the JSON names that fields of the message have.
func NewFieldNames(json ...string) *FieldNames {
	n := &FieldNames{names: map[string]bool{}, camel: map[string]bool{}, keys: map[string]bool{}}
	for _, k := range json {
		n.keys[k] = true
	}
	return n
}

// Take notes a name that a field has.
func (n *FieldNames) Take(name, json string) {
	n.names[name], n.camel[DefaultJSON(name)], n.keys[json] = true, true, true
}

// Make gives a field a name like want. json is its name in JSON; empty: it has
// the default one, which Make keeps free of others.
func (n *FieldNames) Make(want, json string) string {
	name := Unique(want, "_", func(s string) bool {
		d := DefaultJSON(s)
		return n.names[s] || n.camel[d] || n.keys[s] && s != json || json == "" && n.keys[d]
	})
	if json == "" {
		json = DefaultJSON(name)
	}
	n.Take(name, json)
	return name
}
