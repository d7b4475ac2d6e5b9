package infer

import (
	"iter"

	"whittle"
	"whittle/capture"
	"whittle/contract"
)

// Proof says how a contract held against exchanges.
type Proof struct {
	// Exchanges is how many belong to one of the contract's methods; Kept of
	// them came back the same from message and back.
	Exchanges, Kept int
	// Broken are places that did not, at most one of each.
	Broken []Break
}

// Break is a place at which an exchange is not the same after the trip through
// the contract's messages.
type Break struct {
	Method string
	// Path is "request $.a", "response $.items[*].price", "query page".
	Path string
	Why  string
	// Count of the exchanges.
	Count int
}

// Check sends every exchange through the contract: JSON to message, message to
// JSON, and compares.
func Check(entries iter.Seq2[*capture.Entry, error], c *contract.Contract) (*Proof, error) {
	for _, err := range entries {
		if err != nil {
			return nil, err
		}
	}
	return nil, whittle.Errorf(whittle.Unsupported, "check %s: not yet", c.Service)
}
