package scaffold

import (
	"fmt"
	"iter"
	"strconv"
	"time"

	"whittle"
	"whittle/contract"
	"whittle/record/capture"
)

// shopContract has four endpoints of four shapes: a text with a number in it,
// JSON with everything that may be missing, a path with a plain text, and a
// list whose ids and times differ at each call.
func shopContract() *contract.Contract {
	const asJSON = "application/json; charset=utf-8"
	return &contract.Contract{
		Package: "shop.v1", Service: "ShopService",
		Guesses: []contract.Guess{{Path: "log", Chosen: "4 endpoints", Against: "5", Evidence: "1 was seen once"}},
		Methods: []contract.Method{
			{
				Name: "Count", Input: "CountRequest", Output: "CountResponse", Safe: true, Seen: 20,
				HTTP: contract.Binding{
					Method: "POST", Pattern: "/Count", Body: contract.Body{Form: contract.Object, ContentType: "application/json"},
					Response: contract.Response{
						Status: 200, ContentType: "text/html; charset=utf-8", Form: contract.Text,
						Parts: []contract.Part{{Literal: "Counted to "}, {Field: "sum"}, {Literal: " \n"}},
					},
				},
				Compare: contract.Compare{Kind: whittle.Statistical, Value: "number in the body", Per: "request.times"},
				Guesses: []contract.Guess{{Path: "response", Chosen: "a number in a text", Against: "text", Evidence: "20 of 20 responses"}},
			},
			{
				Name: "CreateOrder", Input: "CreateOrderRequest", Output: "CreateOrderResponse", Seen: 20,
				HTTP: contract.Binding{
					Method: "POST", Pattern: "/orders", Query: []contract.Parameter{{Name: "dryRun", Field: "dry_run"}},
					Body: contract.Body{Form: contract.Object, ContentType: "application/json", Unset: contract.Unset{Omits: []string{"$.items[*].tags"}}},
					Response: contract.Response{
						Status: 201, ContentType: asJSON, Form: contract.Object,
						Unset: contract.Unset{Nulls: []string{"$.note", "$.items[*].gift.card"}, Omits: []string{"$.items[*].tags", "$.byId"}},
					},
				},
				Failures: []contract.Failure{{Status: 422, ContentType: asJSON, Count: 2}},
			},
			{
				Name: "GetGreeting", Input: "GetGreetingRequest", Output: "GetGreetingResponse", Safe: true, Seen: 20,
				HTTP: contract.Binding{
					Method: "GET", Pattern: "/greetings/{name}/{times}", Body: contract.Body{Form: contract.NoBody},
					Path:     []contract.Parameter{{Name: "name", Field: "name"}, {Name: "times", Field: "times"}},
					Query:    []contract.Parameter{{Name: "in", Field: "language"}},
					Response: contract.Response{Status: 200, ContentType: "text/plain; charset=utf-8", Form: contract.Text, Parts: []contract.Part{{Field: "text"}}},
				},
			},
			{
				Name: "ListEvents", Input: "ListEventsRequest", Output: "ListEventsResponse", Safe: true, Seen: 20,
				HTTP: contract.Binding{
					Method: "GET", Pattern: "/events", Body: contract.Body{Form: contract.NoBody},
					Query:    []contract.Parameter{{Name: "limit", Field: "limit"}},
					Response: contract.Response{Status: 200, ContentType: asJSON, Form: contract.Whole, Field: "events", Unset: contract.Unset{Nulls: []string{"$[*].by"}}},
				},
				Compare: contract.Compare{Kind: whittle.JSON, Ignore: []string{"$[*].id", "$[*].at"}},
			},
		},
		Messages: []contract.Message{
			{Name: "CountRequest", Fields: []contract.Field{{Name: "times", Number: 1, Type: contract.Int32, Doc: "Range 0 to 10000000."}}},
			{Name: "CountResponse", Fields: []contract.Field{{Name: "sum", Number: 1, Type: contract.Int64}}},
			{Name: "CreateOrderRequest", Fields: []contract.Field{
				{Name: "dry_run", Number: 1, Type: contract.Bool, Optional: true},
				{Name: "customer", Number: 2, Type: contract.String},
				{Name: "items", Number: 3, Type: contract.MessageType, Ref: "Item", Repeated: true},
			}},
			{Name: "Item", Fields: []contract.Field{
				{Name: "sku", JSON: "SKU", Number: 1, Type: contract.String},
				{Name: "price", Number: 2, Type: contract.Double},
				{Name: "tags", Number: 3, Type: contract.String, Repeated: true},
				{Name: "gift", Number: 4, Type: contract.MessageType, Ref: "Gift"},
				{Name: "state", Number: 5, Type: contract.EnumType, Ref: "State", Optional: true},
			}},
			{Name: "Gift", Fields: []contract.Field{{Name: "card", Number: 1, Type: contract.String, Optional: true}, {Name: "wrap", Number: 3, Type: contract.Bool}}, Reserved: []int32{2}},
			{Name: "CreateOrderResponse", Fields: []contract.Field{
				{Name: "order_id", Number: 1, Type: contract.Uint64},
				{Name: "note", Number: 2, Type: contract.String, Optional: true},
				{Name: "items", Number: 3, Type: contract.MessageType, Ref: "Item", Repeated: true},
				{Name: "by_id", Number: 4, Type: contract.MessageType, Ref: "Item", Map: true},
				{Name: "extra", Number: 5, Type: contract.Value},
				{Name: "total", Number: 6, Type: contract.Double},
			}},
			{Name: "GetGreetingRequest", Fields: []contract.Field{
				{Name: "name", Number: 1, Type: contract.String},
				{Name: "times", Number: 2, Type: contract.Int32},
				{Name: "language", Number: 3, Type: contract.String, Optional: true},
			}},
			{Name: "GetGreetingResponse", Fields: []contract.Field{{Name: "text", Number: 1, Type: contract.String}}},
			{Name: "ListEventsRequest", Fields: []contract.Field{{Name: "limit", Number: 1, Type: contract.Int32, Optional: true}}},
			{Name: "ListEventsResponse", Fields: []contract.Field{{Name: "events", Number: 1, Type: contract.MessageType, Ref: "Event", Repeated: true}}},
			{Name: "Event", Fields: []contract.Field{
				{Name: "id", Number: 1, Type: contract.String},
				{Name: "at", Number: 2, Type: contract.String},
				{Name: "kind", Number: 3, Type: contract.EnumType, Ref: "State"},
				{Name: "by", Number: 4, Type: contract.MessageType, Ref: "Gift"},
			}},
		},
		Enums: []contract.Enum{{Name: "State", Values: []contract.EnumValue{
			{Name: "STATE_UNSPECIFIED"}, {Name: "STATE_OPEN", JSON: "open", Number: 1}, {Name: "STATE_IN_WORK", JSON: "in work", Number: 2},
		}}},
	}
}

func recorded(method, target, body string, status int, contentType, response string) *capture.Entry {
	e := &capture.Entry{
		At:       time.Unix(1_700_000_000, 0),
		Request:  whittle.Request{Method: method, Target: target, Header: whittle.Header{}, Body: []byte(body)},
		Response: whittle.Response{Status: status, Header: whittle.Header{}, Body: []byte(response)},
	}
	if body != "" {
		e.Request.Header["Content-Type"] = []string{"application/json"}
	}
	if contentType != "" {
		e.Response.Header["Content-Type"] = []string{contentType}
	}
	return e
}

// shopLog is what was recorded of the shop.
func shopLog() iter.Seq2[*capture.Entry, error] {
	const asJSON, asHTML, asText = "application/json; charset=utf-8", "text/html; charset=utf-8", "text/plain; charset=utf-8"
	log := []*capture.Entry{
		recorded("POST", "/Count", `{"times":10}`, 200, asHTML, "Counted to 512 \n"),
		recorded("POST", "/Count", `{"times":0}`, 200, asHTML, "Counted to 0 \n"),
		recorded("POST", "/Count", `{"times":10000000}`, 200, asHTML, "Counted to 500047951 \n"),
		// A request that the contract has no place for: the monolith's.
		recorded("POST", "/Count", `{"times":"many"}`, 400, asText, "no"),
		// A success that it has no place for.
		recorded("POST", "/Count", `{"times":3}`, 200, asHTML, "Counted to many \n"),

		recorded("POST", "/orders?dryRun=true", `{"customer":"ann","items":[{"SKU":"a","price":0.1,"state":"in work"}]}`, 201, asJSON,
			`{"orderId":18446744073709551615,"note":null,"items":[{"SKU":"a","price":0.1,"state":"in work"}],"extra":{"a":[1,null,"<&>"]},"total":1000000}`),
		recorded("POST", "/orders", `{"customer":"bob","items":[]}`, 201, asJSON,
			`{"orderId":2,"note":"é","items":[{"SKU":"b","price":1e21,"tags":["x"],"gift":{"card":null,"wrap":false}}],"byId":{"b":{"SKU":"b","price":0}},"extra":null,"total":0}`),
		recorded("POST", "/orders", `{"customer":"","items":[{"SKU":"","price":0,"tags":[],"gift":{"wrap":true}}]}`, 422, asJSON, `{"error":{"field":"customer"}}`),
		// A member that no exchange had before.
		recorded("POST", "/orders", `{"customer":"eve","items":[]}`, 201, asJSON, `{"orderId":3,"note":null,"items":[],"total":0,"new":true}`),

		recorded("GET", "/greetings/ann/2", "", 200, asText, "Hello ann, hello ann"),
		recorded("GET", "/greetings/a%2Fb%20%C3%A9/1?in=de", "", 200, asText, "Hallo a/b é"),
		recorded("GET", "/greetings/nobody/1", "", 404, "", ""),

		recorded("GET", "/events", "", 200, asJSON, `[{"id":"5","at":"2026-01-02T03:04:05Z","kind":"open","by":null},{"id":"6","at":"x","kind":"in work","by":{"wrap":true}}]`),
		recorded("GET", "/events?limit=0", "", 200, asJSON, `[]`),
		// Words that no exchange had before, one of them a name of proto's.
		recorded("GET", "/events?limit=1", "", 200, asJSON, `[{"id":"7","at":"x","kind":"paused","by":null}]`),
		recorded("GET", "/events?limit=2", "", 200, asJSON, `[{"id":"8","at":"x","kind":"STATE_OPEN","by":null}]`),
		recorded("GET", "/events?limit=3", "", 200, asJSON, `[{"id":"9","at":"x","kind":1,"by":null}]`),
		recorded("GET", "/other", "", 200, asText, "no endpoint of ours"),
	}
	for i := range 20 {
		log = append(log, recorded("GET", "/greetings/n"+strconv.Itoa(i)+"/1", "", 200, asText, fmt.Sprintf("Hello n%d", i)))
	}
	log[0].Request.Header["Cookie"] = []string{"session=redacted-3f9a2c81d04e"}
	return entriesOf(log)
}
