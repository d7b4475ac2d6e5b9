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
	return map[string]any{"service": v.Package + "." + v.Contract.Service, "methods": methods, "messages": messages, "enums": enums}
}

func nodeField(f *contract.Field) NodeField {
	out := NodeField{
		Name: f.JSONName(), Of: f.Ref, Repeated: f.Repeated, Map: f.Map, Kind: "plain",
		Optional: !f.Repeated && !f.Map && (f.Optional || f.Type == contract.MessageType || f.Type == contract.Value),
	}
	switch f.Type {
	case contract.Int64, contract.Uint64, contract.Bytes, contract.MessageType, contract.EnumType:
		out.Kind = string(f.Type)
	case contract.Value:
		out.Kind = "value"
	}
	if f.Type == contract.Uint64 {
		out.Kind = "int64"
	}
	return out
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
		contract.String: "string", contract.Bool: "boolean", contract.Int32: "number", contract.Double: "number",
		contract.Int64: "number | bigint", contract.Uint64: "number | bigint", contract.Bytes: "Uint8Array", contract.Value: "unknown",
	}[f.Type]
	if one == "" {
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
