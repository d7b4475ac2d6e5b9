package main

import (
	"whittle/contract"
	"whittle/contract/scaffold"
	"whittle/record/capture"
)

// newReport is what whittle new says to machines.
type newReport struct {
	Format    string      `json:"format"`
	Dir       string      `json:"dir"`
	Module    string      `json:"module"`
	Package   string      `json:"package"`
	Service   string      `json:"service"`
	Proto     string      `json:"proto"`
	Methods   []newMethod `json:"methods"`
	Guesses   []newGuess  `json:"guesses"`
	Written   []string    `json:"written"`
	Kept      []string    `json:"kept"`
	Same      []string    `json:"same"`
	Frozen    bool        `json:"frozen"`
	Exchanges int         `json:"exchanges"`
	// Coverage says by method how much of the recorded inputs is asked again.
	Coverage []newCoverage `json:"coverage"`
	// Tested says that the project was built and passed its tests.
	Tested bool `json:"tested"`
}

type newCoverage struct {
	Method string           `json:"method"`
	Tests  capture.Coverage `json:"tests"`
	Plan   capture.Coverage `json:"plan"`
}

type newMethod struct {
	Name     string     `json:"name"`
	Endpoint string     `json:"endpoint"`
	Safe     bool       `json:"safe"`
	Seen     int        `json:"seen"`
	Novelty  float64    `json:"novelty"`
	Guesses  []newGuess `json:"guesses"`
}

type newGuess struct {
	Path     string `json:"path"`
	Chosen   string `json:"chosen"`
	Against  string `json:"against"`
	Evidence string `json:"evidence"`
}

func made(p *scaffold.Project, tested bool) *newReport {
	c := p.Contract
	r := &newReport{
		Format: "whittle.new/1", Dir: p.Dir, Module: p.Module, Package: c.Package, Service: c.Service, Proto: string(c.Proto()),
		Methods: []newMethod{}, Guesses: guessesOf(c.Guesses), Written: p.Written, Kept: p.Kept, Same: p.Same, Frozen: p.Frozen,
		Exchanges: p.Exchanges, Coverage: []newCoverage{}, Tested: tested,
	}
	for _, one := range p.Coverage {
		r.Coverage = append(r.Coverage, newCoverage(one))
	}
	for i := range c.Methods {
		m := &c.Methods[i]
		r.Methods = append(r.Methods, newMethod{m.Name, endpoint(m), m.Safe, m.Seen, m.Novelty, guessesOf(m.Guesses)})
	}
	return r
}

func guessesOf(list []contract.Guess) []newGuess {
	out := []newGuess{}
	for _, g := range list {
		out = append(out, newGuess(g))
	}
	return out
}
