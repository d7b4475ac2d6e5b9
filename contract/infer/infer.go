// Package infer makes a contract of recorded exchanges: one pass over a log of
// any length, in memory that does not grow with it.
package infer

import (
	"iter"

	"whittle"
	"whittle/capture"
	"whittle/contract"
)

// Options say what is inferred. The zero value is useful.
type Options struct {
	// Package is the proto package, "shop.v1"; empty: made of Service. Service
	// is the service's name, "ShopService"; empty: made of the paths.
	Package, Service string
	// Route narrows the exchanges to one route by its name. Empty: all.
	Route string
	// Before is the contract of an earlier run: names and numbers stay as they
	// are in it. Nil: there is none.
	Before *contract.Contract
	Limits Limits
}

// Limits bound what is kept while the log is read. Zero: the default.
type Limits struct {
	// Endpoints is how many endpoints there may be, 64.
	Endpoints int
	// Nodes is how many places in JSON texts are told apart, 20,000; what lies
	// below is not looked into.
	Nodes int
	// Depth is how deep messages nest, 24; what lies below is not looked into.
	Depth int
}

// Infer reads the entries once and gives the contract that all of them fit.
func Infer(entries iter.Seq2[*capture.Entry, error], o Options) (*contract.Contract, error) {
	for _, err := range entries {
		if err != nil {
			return nil, err
		}
	}
	return nil, whittle.Errorf(whittle.Unsupported, "infer: not yet")
}
