package source

import (
	"whittle/contract"
	"whittle/contract/scaffold"
)

// Report is what whittle new says to machines.
type Report struct {
	Format    string           `json:"format"`
	Dir       string           `json:"dir"`
	Module    string           `json:"module"`
	Package   string           `json:"package"`
	Service   string           `json:"service"`
	Proto     string           `json:"proto"`
	Methods   []Method         `json:"methods"`
	Guesses   []contract.Guess `json:"guesses"`
	Written   []string         `json:"written"`
	Kept      []string         `json:"kept"`
	Same      []string         `json:"same"`
	Frozen    bool             `json:"frozen"`
	Exchanges int              `json:"exchanges"`
	// Coverage says by method how much of the recorded inputs is asked again.
	Coverage []scaffold.Coverage `json:"coverage"`
	// Tested says that the project was built and passed its tests.
	Tested bool `json:"tested"`
}

// Method is one that was made.
type Method struct {
	Name     string           `json:"name"`
	Endpoint string           `json:"endpoint"`
	Safe     bool             `json:"safe"`
	Seen     int              `json:"seen"`
	Guesses  []contract.Guess `json:"guesses"`
}

// NewReport makes it of what was made.
func NewReport(p *scaffold.Project, tested bool) *Report {
	c := p.Contract
	r := &Report{
		Format: "whittle.new/1", Dir: p.Dir, Module: p.Module, Package: c.Package, Service: c.Service, Proto: string(c.Proto()),
		Methods: []Method{}, Guesses: append([]contract.Guess{}, c.Guesses...), Written: p.Written, Kept: p.Kept, Same: p.Same, Frozen: p.Frozen,
		Exchanges: p.Exchanges, Coverage: append([]scaffold.Coverage{}, p.Coverage...), Tested: tested,
	}
	for i := range c.Methods {
		m := &c.Methods[i]
		r.Methods = append(r.Methods, Method{m.Name, m.Endpoint(), m.Safe, m.Seen, append([]contract.Guess{}, m.Guesses...)})
	}
	return r
}
