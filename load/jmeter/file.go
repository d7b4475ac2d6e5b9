package jmeter

import (
	"strings"
	"sync"

	"whittle"
	"whittle/load/expr"
	"whittle/load/plan"
)

// reads are the files of the plan's folder that are opened while the run goes on, each once.
type reads struct {
	mu sync.Mutex
	// The following is guarded by mu.
	known map[string]*readFile
	bytes int
}

// readFile is a file's text. False: it cannot be read.
type readFile struct {
	once sync.Once
	text string
	ok   bool
}

// openFile reads a file that the plan names.
func (j *reader) openFile(at plan.Position, name string) []byte {
	if j.Source.Open == nil {
		panic(at.Errorf(whittle.NotFound, "%s cannot be opened: the plan is not a file", name))
	}
	src, err := j.Source.Open(name)
	if err != nil {
		panic(at.Errorf(whittle.CodeOf(err), "%v", err))
	}
	j.opened[name] = at
	return src
}

// fileDuringRun reads a file whose name is known only during the run. False: it cannot be
// read, or the run's files have more bytes together than are kept.
func (j *reader) fileDuringRun(name string) (string, bool) {
	r := &j.reads
	r.mu.Lock()
	f := r.known[name]
	if f == nil {
		f = new(readFile)
		if r.known == nil {
			r.known = map[string]*readFile{}
		}
		if len(r.known) < plan.MaxRows {
			r.known[name] = f
		}
	}
	r.mu.Unlock()
	f.once.Do(func() { // who asks for another file does not wait for the disk
		if j.Source.Open == nil || name == "" {
			return
		}
		src, err := j.Source.Open(name)
		r.mu.Lock()
		defer r.mu.Unlock()
		if f.ok = err == nil && r.bytes+len(src) <= plan.MaxFileBytes; f.ok {
			f.text = string(src)
			r.bytes += len(src)
		}
	})
	return f.text, f.ok
}

// fileText is the text of a file whose name varies; empty where there is none.
func (j *reader) fileText(name expr.Template) expr.Template {
	return mapped(name, func(name string) string { text, _ := j.fileDuringRun(strings.TrimSpace(name)); return text })
}

// fileMark begins what stands in a target where a file cannot be read, so that the request
// is not sent.
const fileMark = "<no-file:"

// missingFile is nothing, or a mark in a request's target where a file cannot be read.
func (j *reader) missingFile(name expr.Template) expr.Template {
	return mapped(name, func(name string) string {
		if _, ok := j.fileDuringRun(strings.TrimSpace(name)); ok {
			return ""
		}
		return fileMark + strings.TrimSpace(name) + ">"
	})
}

// stringToFile is __StringToFile, whose file is not written: what sends nothing is left
// out.
func (j *reader) stringToFile(c *functionCall) expr.Expression {
	name, ok := c.args[0].Constant()
	if !ok {
		name = "a file"
	}
	j.written[strings.TrimSpace(name)] = c.at
	j.note("what __StringToFile writes is left out: " + name)
	return expr.Expression{Eval: func(s *expr.Scope) expr.Value {
		c.texts(s) // functions within it are called all the same
		return expr.TextValue("true")
	}}
}

// refuseRead refuses a plan that reads a file which it writes itself.
func (j *reader) refuseRead() {
	base := func(name string) string { return name[strings.LastIndexAny(name, `/\`)+1:] }
	for name, at := range j.written {
		for read := range j.opened {
			if name == "a file" || base(read) == base(name) {
				panic(at.Errorf(whittle.Unsupported, "${__StringToFile} is not supported where the plan reads %s: no file is written", read))
			}
		}
	}
}
