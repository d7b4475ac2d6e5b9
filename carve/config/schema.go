package config

import (
	"bytes"
	"encoding/json"
	"fmt"

	"whittle"
)

// Schema is the JSON Schema of a config (draft 7), made of the table of keys. It says of each
// what the reader takes there; what relates one key to another, and ranges of durations and
// sizes, are left to the reader.
func Schema() []byte { return encoded("whittle.yaml", new(File).config().schema()) }

// IncludedSchema is that of a file which include names: routes, as a config has them, and
// nothing else.
func IncludedSchema() []byte {
	route := new(File).route(new(whittle.Route)).schema()
	return encoded("routes of whittle.yaml in a file of their own", map[string]any{
		"type": "object", "additionalProperties": false,
		"properties": map[string]any{"routes": map[string]any{"type": "array", "items": route, "maxItems": maxRoutes}},
	})
}

func encoded(title string, s map[string]any) []byte {
	s["$schema"], s["title"] = "http://json-schema.org/draft-07/schema#", title
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(s); err != nil {
		panic(fmt.Sprintf("encode a schema, which has texts and numbers alone: %v", err))
	}
	return b.Bytes()
}

// schema is what a value may be.
func (v value) schema() map[string]any {
	var ways []any
	if v.text != nil {
		_, ways = v.form()
		// Every value may come from the environment, as a whole or in part.
		ways = append(ways, map[string]any{"type": "string", "pattern": `\$\{`})
	}
	if v.list != nil {
		item, _ := v.list.item()
		ways = append(ways, map[string]any{"type": "array", "items": item.schema(), "minItems": v.list.least, "maxItems": v.list.most})
	}
	if v.block != nil {
		ways = append(ways, v.block().schema())
	}
	if v.names != nil {
		item, _, _ := v.names.entry(v.names.sample)
		ways = append(ways, map[string]any{"type": "object", "additionalProperties": item.schema(), "minProperties": v.names.least, "maxProperties": v.names.most})
	}
	if len(ways) == 1 {
		return ways[0].(map[string]any)
	}
	return map[string]any{"anyOf": ways}
}

func (b block) schema() map[string]any {
	properties := map[string]any{}
	out := map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
	var needed []any
	for _, k := range b.keys {
		s := k.value.schema()
		s["description"] = k.says
		if def := k.standard(); def == required {
			needed = append(needed, k.name)
		} else if def != "" {
			s["description"] = k.says + ". Default: " + def
		}
		properties[k.name] = s
	}
	if needed != nil {
		out["required"] = needed
	}
	if b.filled {
		out["minProperties"] = 1
	}
	return out
}

// standard is the default for a reader.
func (k *key) standard() string {
	switch {
	case k.def == "" && k.value.show != nil:
		return "`" + k.value.show() + "`"
	case k.def == "" || k.def == required:
		return k.def
	case k.def[0] == '(':
		return k.def[1 : len(k.def)-1]
	}
	return "`" + k.def + "`"
}
