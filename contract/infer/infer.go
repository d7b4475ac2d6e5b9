// Package infer makes a contract from recorded exchanges: in one pass over a
// log of any length, in memory that does not grow with it.
package infer

import (
	"cmp"
	"iter"

	"whittle"
	"whittle/contract"
	"whittle/record/capture"
)

// Options configure the inference. The zero value is useful.
type Options struct {
	// Package is the proto package, "shop.v1"; empty: made of Service. Service
	// is the service's name, "ShopService"; empty: made of the paths.
	Package, Service string
	// Route restricts the exchanges to one route by name. Empty: all.
	Route string
	// Before is the contract of an earlier run: names and numbers stay as they
	// are in it, and so do its package and its service. Nil: there is none.
	Before *contract.Contract
	Limits Limits

	// opaque are bodies ("GetUser response") whose fields are not inferred.
	opaque map[string]bool
}

// Limits bound the memory of an inference. Zero: the default.
type Limits struct {
	// Endpoints bounds the number of endpoints, 64.
	Endpoints int
	// Nodes bounds the places in JSON texts that are tracked, 20,000; fields
	// below further ones are not inferred.
	Nodes int
	// Depth bounds how deep messages nest, 24; fields below are not inferred.
	Depth int
}

func (l Limits) withDefaults() Limits {
	return Limits{cmp.Or(max(l.Endpoints, 0), 64), cmp.Or(max(l.Nodes, 0), 20_000), cmp.Or(max(l.Depth, 0), 24)}
}

// Infer reads the entries once and returns the contract that all of them fit.
// It fails where an entry cannot be read, and with NotFound where no exchange
// shows an endpoint.
func Infer(entries iter.Seq2[*capture.Entry, error], o Options) (*contract.Contract, error) {
	o.Limits = o.Limits.withDefaults()
	l := newLog(o)
	for x, err := range entries {
		if err != nil {
			return nil, err
		}
		l.see(x)
	}
	i := &inference{o: o, log: l, before: newEarlier(o.Before), done: map[string]bool{}}
	c := i.build()
	if len(c.Methods) == 0 {
		return nil, l.nothing()
	}
	return c, nil
}

// nothing says why the exchanges have no endpoint.
func (l *log) nothing() error {
	err := whittle.Errorf(whittle.NotFound, "infer contract: none of %d exchanges shows an endpoint", l.seen)
	switch {
	case l.seen == 0 && l.o.Route != "":
		return err.WithHint("no exchange is of the route " + l.o.Route + "; record ls lists the routes of a log")
	case l.seen == 0:
		return err.WithHint("record some exchanges first")
	}
	if why := l.left.most(); why != "" {
		return err.WithHint("most often: " + why)
	}
	return err
}
