// Package contract is the form of a service's contract that every source of one
// is read into (recorded exchanges, an OpenAPI document, a .proto file) and
// that a project is made of: messages, methods, how HTTP maps on them, and why
// each of it is believed. It is data, and the .proto file made of it.
package contract

import "whittle"

// Contract is one service.
type Contract struct {
	// Package is the proto package, "shop.v1"; Service its only service, "Shop".
	Package, Service string
	Methods          []Method
	// Messages and Enums have unique names, in the order of their first use.
	Messages []Message
	Enums    []Enum
}

// Method is one endpoint.
type Method struct {
	// Name of the procedure, "GetUser".
	Name string
	// HTTP is the endpoint as the monolith's clients know it.
	HTTP Binding
	// Input and Output name messages.
	Input, Output string
	// Safe says that no exchange showed a sign of a change: GET, HEAD, OPTIONS,
	// or a person said so.
	Safe bool
	// Seen is how many exchanges it was inferred from; 0: it came from a
	// document. Novelty estimates how likely the next one has a shape that none
	// of them had (Good and Turing; I. J. Good, Biometrika 40, 1953).
	Seen    int
	Novelty float64
	Guesses []Guess
	// Failures are the answers other than the success, by status.
	Failures []Failure
}

// Binding maps an endpoint's HTTP on its messages.
type Binding struct {
	Method string
	// Pattern is net/http's: "/users/{id}". A wildcard has its field's name.
	Pattern string
	// Query lists the fields of Input that come from the query.
	Query []Parameter
	// Path lists the fields of Input that come from the path.
	Path []Parameter
	Body Body
	// Answer is the success.
	Answer Answer
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
	// Whole: any other JSON, or a text, which is one field of the message.
	Whole BodyForm = "whole"
	// Form: application/x-www-form-urlencoded, each pair a field.
	Form BodyForm = "form"
	// Text: a text by a template, whose holes are fields.
	Text BodyForm = "text"
)

// Body is how a request's body becomes fields.
type Body struct {
	Form BodyForm
	// Field is the one of Whole.
	Field string
}

// Answer is how fields become a success's body.
type Answer struct {
	Status      int
	ContentType string
	Form        BodyForm
	// Field is the one of Whole.
	Field string
	// Parts of Text, in order.
	Parts []Part
	// Nulls lists the JSON paths that are written as null where their field is
	// not set, "$.owner.phone"; all other unset fields are left out.
	Nulls []string
}

// Part is a piece of a text answer: a literal, or a field.
type Part struct{ Literal, Field string }

// Failure is one kind of answer that is not the success.
type Failure struct {
	Status      int
	ContentType string
	// Count of the exchanges that had it, and one of them.
	Count   int
	Example whittle.Answer
}

// Type is a field's scalar type in proto's words, or one of the three below.
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
	// Optional tells unset from zero.
	Optional bool
	// Map is a map from strings to Type.
	Map bool
	// Doc is one sentence for the .proto file: format, range, examples.
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

// Enum is a set of words. Values[0] is the unspecified one, made by whittle.
type Enum struct {
	Name   string
	Values []EnumValue
}

// EnumValue is a word: Name as proto has it, JSON as the traffic has it.
type EnumValue struct {
	Name, JSON string
	Number     int32
}

// Guess is something that the exchanges suggest and do not prove.
type Guess struct {
	// Path is what it is about: "response $.items[*].price".
	Path string
	// Chosen and Against: "decimal as string" and "double".
	Chosen, Against string
	// Evidence is one sentence with its figures: "412 of 412 values have at
	// most 2 decimals, range 0.5 to 812.25".
	Evidence string
}
