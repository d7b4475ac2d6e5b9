// Package smugglingtest has messages of HTTP/1.1 that servers are known to read
// differently, or that come close to one: for the tests of everything that reads
// HTTP/1.1. Each says what internal/http1, net/http, nginx and Envoy do with it.
package smugglingtest

import (
	_ "embed" // for cases.json
	"encoding/json"
	"fmt"
)

// Case is one message.
type Case struct {
	Name string `json:"name"`
	// Side is request or response.
	Side    string `json:"side"`
	Message string `json:"message"`
	// Status is that of internal/http1's Error without any tolerance. 0: it accepts
	// the message.
	Status int `json:"status"`
	// NetHTTP is what net/http's server or client does: accepts or refuses.
	NetHTTP string `json:"net/http"`
	// Nginx and Envoy say what these do by default, from their documentation,
	// change logs and sources; they are not run.
	Nginx string `json:"nginx"`
	Envoy string `json:"envoy"`
}

//go:embed cases.json
var cases []byte

// Cases returns those of one side, request or response, or all for "".
func Cases(side string) []Case {
	var all, of []Case
	if err := json.Unmarshal(cases, &all); err != nil {
		panic(fmt.Sprintf("cases.json: %v", err)) // a mistake in a file of this package
	}
	for _, c := range all {
		if side == "" || c.Side == side {
			of = append(of, c)
		}
	}
	return of
}
