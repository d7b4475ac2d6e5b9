package config

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
)

//go:embed whittle.schema.json
var schema []byte

// Schema is the JSON Schema of a config (draft 7). It says of each field what the reader
// takes there; what relates one field to another, and ranges of durations and sizes, are
// left to the reader. Tests make it of the reader, and of the guide's words.
func Schema() []byte { return slices.Clone(schema) }

// IncludedSchema is that of a file which include names: routes, as a config has them, and
// nothing else.
func IncludedSchema() []byte {
	var whole struct {
		Draft      string `json:"$schema"`
		Properties struct {
			Routes json.RawMessage `json:"routes"`
		} `json:"properties"`
	}
	if err := json.Unmarshal(schema, &whole); err != nil {
		panic(fmt.Sprintf("whittle.schema.json, which tests write, is no JSON: %v", err))
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	err := e.Encode(map[string]any{
		"$schema": whole.Draft, "title": "routes of whittle.yaml in a file of their own", "type": "object",
		"additionalProperties": false, "properties": map[string]any{"routes": whole.Properties.Routes},
	})
	if err != nil {
		panic(fmt.Sprintf("encode the schema of an included file: %v", err))
	}
	return b.Bytes()
}

// survey notes what a reading asks for: the schema is made of it. Fields go by their
// paths without indices. A reading that nobody surveys has none, and nothing is noted.
type survey struct {
	// keys are the fields that each mapping was asked for, in order.
	keys map[string][]string
	// texts says of each single value which texts are taken.
	texts map[string]func(string) error
	// lists has how many items each list may have.
	lists map[string]int
	// mappings are the fields that were opened as one; those in closed refuse every
	// key that is not among keys.
	mappings, closed map[string]bool
}

func newSurvey() *survey {
	return &survey{
		keys: map[string][]string{}, texts: map[string]func(string) error{}, lists: map[string]int{},
		mappings: map[string]bool{}, closed: map[string]bool{},
	}
}

func (s *survey) key(mapping, key string) {
	if s != nil {
		mapping = withoutIndices(mapping)
		s.keys[mapping] = append(s.keys[mapping], key)
	}
}

func (s *survey) text(field string, taken func(string) error) {
	if s != nil {
		s.texts[withoutIndices(field)] = taken
	}
}

func (s *survey) list(field string, most int) {
	if s != nil {
		s.lists[withoutIndices(field)] = most
	}
}

func (s *survey) mapping(field string) {
	if s != nil {
		s.mappings[withoutIndices(field)] = true
	}
}

func (s *survey) close(mapping string) {
	if s != nil {
		s.closed[withoutIndices(mapping)] = true
	}
}
