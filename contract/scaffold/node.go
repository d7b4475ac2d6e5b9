package scaffold

import (
	"fmt"
	"strings"

	"whittle/contract"
)

// NodeField is what the Node client must know of a field to turn Twirp's JSON
// into values and back: 64-bit integers are strings there, enums have proto's
// names, bytes are base64.
type NodeField struct {
	Name string `json:"name"`
	// Kind is "int64", "enum", "bytes", "message", "value" or "plain".
	Kind string `json:"kind"`
	// Of is the message or the enum.
	Of       string `json:"of,omitempty"`
	Repeated bool   `json:"repeated,omitempty"`
	Map      bool   `json:"map,omitempty"`
	// Optional fields are undefined where they are not set.
	Optional bool `json:"optional,omitempty"`
	// Zero is what a plain field is that cannot be unset and is not in the JSON.
	Zero any `json:"zero,omitempty"`
}

// Schema is schema.js's.
func (v *view) Schema() map[string]any {
	messages := map[string][]NodeField{}
	for _, m := range v.Contract.Messages {
		fields := []NodeField{}
		for i := range m.Fields {
			fields = append(fields, nodeField(&m.Fields[i]))
		}
		messages[m.Name] = fields
	}
	enums := map[string]map[string]string{}
	for _, e := range v.Contract.Enums {
		words := map[string]string{}
		for _, value := range e.Values {
			if value.JSON != "" {
				words[value.Name] = value.JSON
			}
		}
		enums[e.Name] = words
	}
	methods := map[string]map[string]string{}
	for _, m := range v.Methods {
		methods[m.JS()] = map[string]string{"procedure": m.Proto, "input": m.Input, "output": m.Output}
	}
	return map[string]any{"service": v.FullService, "methods": methods, "messages": messages, "enums": enums}
}

func nodeField(f *contract.Field) NodeField {
	out := NodeField{
		Name: f.JSONName(), Of: f.Ref, Repeated: f.Repeated, Map: f.Map, Kind: "plain",
		Optional: !f.Repeated && !f.Map && (f.Optional || f.Type == contract.MessageType || f.Type == contract.Value),
	}
	switch f.Type {
	case contract.Bytes, contract.MessageType, contract.EnumType:
		out.Kind = string(f.Type)
	case contract.Value:
		out.Kind = "value"
	}
	if isLong(f.Type) {
		out.Kind = "int64"
	}
	if out.Kind == "plain" && !out.Optional && !out.Repeated && !out.Map {
		out.Zero = zeroOf(f.Type)
	}
	return out
}

// isLong says that a type's values are strings in Twirp's JSON. A .proto file has
// more such types than are inferred.
func isLong(t contract.Type) bool {
	switch t {
	case contract.Int64, contract.Uint64, "sint64", "fixed64", "sfixed64":
		return true
	}
	return false
}

// isNumber says that a type's values are numbers in JSON.
func isNumber(t contract.Type) bool {
	switch t {
	case contract.Int32, contract.Double, "float", "uint32", "sint32", "fixed32", "sfixed32":
		return true
	}
	return false
}

// zeroOf is a plain type's zero in JavaScript. Messages of google.protobuf have
// none.
func zeroOf(t contract.Type) any {
	switch {
	case t == contract.String:
		return ""
	case t == contract.Bool:
		return false
	case isNumber(t):
		return 0
	}
	return nil
}

// JS is the method's name in JavaScript.
func (m method) JS() string { return strings.ToLower(m.Proto[:1]) + m.Proto[1:] }

// Types are the messages and enums of index.d.ts.
func (v *view) Types() string {
	var b strings.Builder
	for _, e := range v.Contract.Enums {
		words := []string{}
		for _, word := range e.Words() {
			text, _ := jsonText(word)
			words = append(words, text)
		}
		fmt.Fprintf(&b, "export type %s = %s;\n\n", e.Name, strings.Join(words, " | "))
	}
	for _, m := range v.Contract.Messages {
		fmt.Fprintf(&b, "export interface %s {\n", m.Name)
		for i := range m.Fields {
			f := &m.Fields[i]
			if f.Doc != "" {
				fmt.Fprintf(&b, "  /** %s */\n", strings.Join(strings.Fields(strings.ReplaceAll(f.Doc, "*/", "* /")), " "))
			}
			name, _ := jsonText(f.JSONName())
			fmt.Fprintf(&b, "  %s%s: %s;\n", name, optionalSign(f), typeScript(f))
		}
		b.WriteString("}\n\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func optionalSign(f *contract.Field) string {
	if nodeField(f).Optional {
		return "?"
	}
	return ""
}

func typeScript(f *contract.Field) string {
	one := map[contract.Type]string{
		contract.String: "string", contract.Bool: "boolean", contract.Bytes: "Uint8Array", contract.Value: "unknown",
	}[f.Type]
	switch {
	case one != "":
	case isNumber(f.Type):
		one = "number"
	case isLong(f.Type):
		one = "number | bigint"
	default:
		one = f.Ref
	}
	switch {
	case f.Map:
		return "Record<string, " + one + ">"
	case f.Repeated:
		return "Array<" + one + ">"
	}
	return one
}
