// Package contract models a service's contract: messages, methods, how HTTP
// maps to them, and the evidence for each. Every source (recorded exchanges, an
// OpenAPI document, a .proto file) is read into it, and projects are made from
// it. It also writes the contract as a .proto file and a descriptor.
package contract

import (
	"slices"

	"whittle/internal/units"

	"whittle"
)

// Credentials are the request headers that say who asks. No message carries
// them.
var Credentials = [...]string{"Authorization", "Cookie"}

// Contract is one service.
type Contract struct {
	// Package is the proto package, "shop.v1"; Service its only service,
	// "ShopService". GoPackage is the .proto file's go_package option; empty:
	// none is written.
	Package, Service, GoPackage string
	Methods                     []Method
	// Messages and Enums have unique names, in the order of their first use.
	Messages []Message
	Enums    []Enum
	// Guesses concern the whole contract: what was left out, and how much of
	// it.
	Guesses []Guess
}

// Method is one endpoint.
type Method struct {
	// Name of the procedure, "GetUser".
	Name string
	// HTTP is the endpoint as the monolith's clients know it.
	HTTP Binding
	// Input and Output name messages.
	Input, Output string
	// Safe says that the method changes nothing: it is GET, HEAD or OPTIONS, or
	// a person said so.
	Safe bool
	// Seen is how many exchanges it was inferred from; 0: it came from a
	// document.
	Seen    int
	Guesses []Guess
	// Failures are the responses other than the success, by status.
	Failures []Failure
	// Compare is the suggested comparison of two responses.
	Compare Compare
	// Doc is one sentence for the .proto file. Empty: the HTTP binding is
	// described instead.
	Doc string
}

// Compare is a suggested comparison, in the terms of whittle.Comparison.
type Compare struct {
	// Kind is empty where only the default is suggested.
	Kind whittle.CompareKind
	// Value and Per are a statistical comparison's expressions.
	Value, Per string
	// Ignore lists JSON paths that differ between two responses to the same
	// request, Unordered the arrays that come in another order.
	Ignore, Unordered []string
	// Varies lists further JSON paths that differ between two responses to the
	// same request. The recording does not say whether that is noise; a
	// comparison learns it.
	Varies []string
}

// NotCompared lists the JSON paths whose recorded values a service need not
// reproduce.
func (c *Compare) NotCompared() []string { return slices.Concat(c.Ignore, c.Varies) }

// Binding maps an endpoint's HTTP to its messages.
type Binding struct {
	Method string
	// Pattern is net/http's: "/users/{id}". A wildcard has its field's name.
	Pattern string
	// Query lists the fields of Input that come from the query.
	Query []Parameter
	// Path lists the fields of Input that come from the path.
	Path []Parameter
	Body Body
	// Response is that of a success.
	Response Response
}

// Parameter is a field that stands in the query or the path.
type Parameter struct {
	// Name as HTTP has it, Field as the message has it.
	Name, Field string
}

// BodyForm is how a body carries a message.
type BodyForm string

// The forms of bodies.
const (
	// NoBody: nothing is sent, or what is sent is not looked at.
	NoBody BodyForm = "none"
	// Object: a JSON object whose members are the message's fields.
	Object BodyForm = "object"
	// Whole: JSON of any kind (an array, a number, an object that is a message
	// of its own) which is one field of the message.
	Whole BodyForm = "whole"
	// Form: application/x-www-form-urlencoded, each pair a field.
	Form BodyForm = "form"
	// Text: a text, as one string field, or, in responses, a template whose
	// holes are fields.
	Text BodyForm = "text"
)

// Body is how a request's body becomes fields.
type Body struct {
	Form BodyForm
	// ContentType as clients send it; empty where there is no body.
	ContentType string
	// Field is the one of Whole and of Text.
	Field string
	// Pairs map the names of Form to fields.
	Pairs []Parameter
	// Optional says that some requests have no body: a message whose body
	// fields are all unset is sent without one.
	Optional bool
	// Unset is how unset fields of Object and Whole are written.
	Unset Unset
}

// Unset says by JSON paths ("$.owner.phone", "$.items[*].tags", "$.byId.*.at",
// `$["odd key"]`) how fields that are not set are written. All others: a field
// that distinguishes unset from zero (optional, a message, a Value) is left out, any
// other is written with its zero value, [] or {}. The paths are those of the
// JSON text, so a field that is Whole is "$".
type Unset struct {
	// Nulls are written as null where they are not set, or, a repeated field or
	// a map, where they are empty. Read, a null there is an unset field.
	Nulls []string
	// Omits are the repeated fields and maps that are left out where they are
	// empty.
	Omits []string
}

// Sets are the lists as sets.
func (u *Unset) Sets() (nulls, omits map[string]bool) {
	set := func(paths []string) map[string]bool {
		out := make(map[string]bool, len(paths))
		for _, p := range paths {
			out[p] = true
		}
		return out
	}
	return set(u.Nulls), set(u.Omits)
}

// Response says how fields become the body of a success.
type Response struct {
	Status      int
	ContentType string
	Form        BodyForm
	// Field is the one of Whole.
	Field string
	// Parts of Text, in order. A text that is not looked into is one part.
	Parts []Part
	// Unset is how unset fields of Object and Whole are written.
	Unset Unset
}

// Part is a piece of a text response: a literal, or a field.
type Part struct{ Literal, Field string }

// Failure is one kind of response that is not the success.
type Failure struct {
	Status      int
	ContentType string
	// Count of the exchanges that had it, and one of them.
	Count   int
	Example whittle.Response
}

// Type is a field's scalar type in proto's words, the full name of a message of
// google.protobuf that JSON has a form of its own for, or a message or an enum
// of the contract. Inference makes those below.
type Type string

// The types that are inferred.
const (
	String Type = "string"
	Bool   Type = "bool"
	Int32  Type = "int32"
	Int64  Type = "int64"
	Uint64 Type = "uint64"
	Double Type = "double"
	Bytes  Type = "bytes"
	// MessageType and EnumType are named by Ref.
	MessageType Type = "message"
	EnumType    Type = "enum"
	// Value is google.protobuf.Value: JSON of which nothing more can be said.
	// Unset and null are two things for it.
	Value Type = "google.protobuf.Value"
)

// Field is a field of a message.
type Field struct {
	// Name is proto's, JSON the member's. Number stays what it was when the
	// contract is made again of more traffic.
	Name, JSON string
	Number     int32
	Type       Type
	Ref        string
	Repeated   bool
	// Optional distinguishes unset from zero.
	Optional bool
	// Map is a map from strings to Type.
	Map bool
	// Doc is one sentence for the .proto file: format, range, evidence.
	Doc string
}

// Message is a message.
type Message struct {
	Name   string
	Doc    string
	Fields []Field
	// Reserved are the numbers of fields that were there once.
	Reserved []int32
}

// Enum is a set of words. Numbers stay what they were when the contract is made
// again of more traffic, and new words come after them.
type Enum struct {
	Name   string
	Values []EnumValue
}

// EnumValue is a word: Name as proto has it, JSON as the traffic has it. Without
// JSON it is the unspecified value, made by whittle, which stands for no word:
// no JSON is read as it, and none can be written of it.
type EnumValue struct {
	Name, JSON string
	Number     int32
}

// Guess is something that the exchanges suggest and do not prove.
type Guess struct {
	// Path is what it is about: "response $.items[*].price".
	Path string `json:"path"`
	// Chosen and Against: "decimal as string" and "double".
	Chosen  string `json:"chosen"`
	Against string `json:"against"`
	// Evidence is one sentence with its figures: "412 of 412 values have at
	// most 2 decimals, range 0.5 to 812.25".
	Evidence string `json:"evidence"`
}

// Redirects reports whether a status sends the client elsewhere. It is a success
// where an operation has no other, such as a login by form.
func Redirects(status int) bool {
	switch status {
	case 301, 302, 303, 307, 308:
		return true
	}
	return false
}

// Count writes a number of things: "1 field", "2 fields".
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return units.Grouped(n) + " " + what + "s"
}
