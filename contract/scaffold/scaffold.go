// Package scaffold makes a small complete project from a contract: the .proto
// file, a Go service that delegates to the monolith until it has logic of its
// own, tests of the recorded exchanges, the route's config and a
// load plan. The project does not import whittle.
package scaffold

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"path/filepath"
	"slices"

	"whittle"
	"whittle/contract"
	"whittle/record/capture"
)

// Options configure the project.
type Options struct {
	// Dir is the project's folder, made where it is missing.
	Dir string
	// Module is the Go module's path. Empty: what it was, or the folder's name.
	Module string
	// Monolith is the URL that the service delegates to, and the gateway's.
	// Empty: http://127.0.0.1:3000.
	Monolith string
	// Version of whittle, for the project's papers.
	Version string
	// Source is what the contract was made of, in words.
	Source string
}

// Project is the result of Make.
type Project struct {
	Dir, Module, Name string
	Contract          *contract.Contract
	// Written, Kept and Same are paths below Dir: files that are new or
	// changed, files that were left alone because a person has changed them,
	// and files that were up to date.
	Written, Kept, Same []string
	// Frozen says that a person has changed the .proto file. It is kept with
	// all that is generated from it, and Contract is the earlier one.
	Frozen bool
	// Exchanges counts the recorded exchanges that became tests.
	Exchanges int
	// Coverage says by method how many of the recorded inputs these tests, and
	// the load plan, represent. Empty: there was no log.
	Coverage []Coverage
}

// Coverage is how many of a method's recorded inputs are sent again.
type Coverage struct {
	Method string           `json:"method"`
	Tests  capture.Coverage `json:"tests"`
	Plan   capture.Coverage `json:"plan"`
}

// Make writes the project into o.Dir and generates its code, for which Go must
// be installed. It reads entries once more for tests and the load plan; nil:
// there are none. It sets the contract's GoPackage.
//
// Make refuses a folder that is neither empty nor an earlier project. In a
// project it leaves files alone that a person has changed.
func Make(ctx context.Context, c *contract.Contract, entries iter.Seq2[*capture.Entry, error], o Options) (made *Project, err error) {
	before, err := readManifest(o.Dir)
	if err != nil {
		return nil, err
	}
	if o.Module, err = before.module(o.Dir, o.Module); err != nil {
		return nil, err
	}
	o.Monolith = cmp.Or(o.Monolith, "http://127.0.0.1:3000")
	frozen, err := before.isTheirs(o.Dir, "proto/"+c.FileName())
	if err != nil {
		return nil, err
	}
	if frozen {
		// The other files are of that contract, too: of a newer one they would
		// name methods and fields that the generated code does not have.
		c = theirs(before.Contract, c)
	}
	v, err := newView(c, o)
	if err != nil {
		return nil, err
	}
	if entries != nil {
		if v.samples, err = sample(c, entries); err != nil {
			return nil, err
		}
	}
	files, err := v.files()
	if err != nil {
		return nil, err
	}
	p := &Project{Dir: o.Dir, Module: v.Module, Name: v.Name, Contract: c, Frozen: frozen}
	for i := range v.Methods {
		if s := v.samples[v.Methods[i].Proto]; s != nil {
			p.Exchanges += len(s.exchanges)
			p.Coverage = append(p.Coverage, Coverage{v.Methods[i].Proto, s.coverage, s.planned})
		}
	}
	after := manifest{Format: manifestFormat, Module: v.Module, Contract: withoutExamples(c), Files: map[string]string{}}
	defer func() {
		if err != nil {
			// What was written until then is known, so that the next run goes on.
			after.remember(before)
			err = errors.Join(err, after.save(o.Dir))
		}
	}()
	if err := p.write(files, before, &after); err != nil {
		return nil, err
	}
	if err := p.holdConfig(); err != nil {
		return nil, err
	}
	generated, err := generate(ctx, v, o.Dir)
	if err != nil {
		return nil, err
	}
	if err := p.write(generated, before, &after); err != nil {
		return nil, err
	}
	if err := p.dropOld(before, &after); err != nil {
		return nil, err
	}
	return p, after.save(o.Dir)
}

// theirs is the contract of the project, with what a person has said of endpoints
// this time.
func theirs(before, now *contract.Contract) *contract.Contract {
	for i := range before.Methods {
		m := &before.Methods[i]
		m.Safe = m.Safe || slices.ContainsFunc(now.Methods, func(n contract.Method) bool { return n.Name == m.Name && n.Safe })
	}
	return before
}

// Before returns the contract of the project in dir, so that inference keeps
// its names and numbers. Nil: there is no project yet. A folder that contains
// anything else is FailedPrecondition, and a module (Options.Module) that Go or
// the project could not have is Invalid.
func Before(dir, module string) (*contract.Contract, error) {
	m, err := readManifest(dir)
	if err != nil {
		return nil, err
	}
	_, err = m.module(dir, module)
	return m.Contract, err
}

// module is the path that is given, else that of before, else one after the folder.
func (m *manifest) module(dir, given string) (string, error) {
	path := cmp.Or(given, m.Module)
	if path == "" {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return "", whittle.Errorf(whittle.Invalid, "find folder: %w", err)
		}
		path = plainName(filepath.Base(abs))
	}
	if !isModule(path) {
		return "", whittle.Errorf(whittle.Invalid, "make project: %q is not a Go module's path", path).
			WithHint("give --module NAME of letters, digits, dots, dashes and slashes, such as example.com/shop")
	}
	return path, nil
}
