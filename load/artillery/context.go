package artillery

import (
	"strconv"

	"whittle"
	"whittle/load/expr"
	"whittle/load/script"
)

// userContext is the context that a user's functions are given: an object of the engine
// for as long as the user lives, whose vars are the user's variables.
type userContext struct {
	processor *processor
	object    *script.Object
	vars      *variables
	// params are those of the request under way.
	params *script.Object
	// extra are variables that no template of the plan names. The user's own.
	extra map[string]expr.Value
}

// begin brings the user's variables to the engine.
func (c *userContext) begin(vm *script.VM, driver *script.Object, s *expr.Scope) error {
	if c.vars == nil {
		c.vars = &variables{vm: vm, entries: map[string]*entry{}}
		for name, v := range c.processor.reader.wellKnown() {
			c.vars.put(name, &entry{from: v, is: true})
		}
		for name, v := range c.extra {
			c.vars.put(name, &entry{from: v, is: true})
		}
		process, ok := vm.GlobalObject().Get("process").(*script.Object)
		if !ok {
			return whittle.Errorf(whittle.Internal, "the engine has no process")
		}
		for _, name := range []string{"$env", "$processEnvironment"} {
			c.vars.put(name, &entry{value: process.Get("env"), is: true, fixed: true})
		}
	}
	c.vars.load(c.processor.reader.names, s)
	if c.object != nil {
		return nil
	}
	made, err := method(vm, driver, "context", vm.NewDynamicObject(c.vars), "")
	if err != nil {
		return err
	}
	c.object = made.(*script.Object)
	return nil
}

// variables are a user's variables as an object of the engine. A value is converted when
// a script first looks at it, and kept until the plan changes it.
type variables struct {
	vm      *script.VM
	entries map[string]*entry
	order   []string
}

type entry struct {
	from  expr.Value   // as the plan's side has it
	value script.Value // as scripts have it; nil: not converted yet
	is    bool         // it is there
	fixed bool         // it is the engine's own
	dirty bool         // a script has set it, or has an object of it
}

func (v *variables) put(name string, e *entry) {
	if v.entries[name] == nil {
		v.order = append(v.order, name)
	}
	v.entries[name] = e
}

// load takes over what the plan changed.
func (v *variables) load(names []string, s *expr.Scope) {
	for slot, name := range names {
		now := s.Values[slot]
		e := v.entries[name]
		switch {
		case e == nil && now.JSON == "":
		case e == nil:
			v.put(name, &entry{from: now, is: true})
		case e.fixed:
		case e.from.JSON != now.JSON:
			*e = entry{from: now, is: now.JSON != ""}
		}
	}
}

// store gives back what scripts changed.
func (v *variables) store(vm *script.VM, names []string, s *expr.Scope, extra map[string]expr.Value) error {
	slots := make(map[string]int, len(names))
	for slot, name := range names {
		slots[name] = slot
	}
	for _, name := range v.order {
		e := v.entries[name]
		if !e.dirty || e.fixed {
			continue
		}
		e.dirty = isObject(e.value)
		now, err := exprValue(vm, e.value)
		if err != nil {
			return err
		}
		e.from = now
		if slot, ok := slots[name]; ok {
			s.Values[slot] = now
		} else {
			extra[name] = now
		}
	}
	return nil
}

// Get is what a script reads.
func (v *variables) Get(key string) script.Value {
	e := v.entries[key]
	if e == nil || !e.is {
		return nil
	}
	if e.value == nil {
		e.value = scriptValue(v.vm, e.from)
	}
	e.dirty = e.dirty || isObject(e.value)
	return e.value
}

// Set is what a script sets.
func (v *variables) Set(key string, val script.Value) bool {
	v.put(key, &entry{value: val, is: true, dirty: true})
	return true
}

// Has reports whether there is a variable of that name.
func (v *variables) Has(key string) bool {
	e := v.entries[key]
	return e != nil && e.is
}

// Delete takes a variable away.
func (v *variables) Delete(key string) bool {
	if e := v.entries[key]; e != nil {
		*e = entry{dirty: true}
	}
	return true
}

// Keys lists the variables in the order in which they came.
func (v *variables) Keys() []string {
	var out []string
	for _, name := range v.order {
		if v.entries[name].is {
			out = append(out, name)
		}
	}
	return out
}

func isObject(v script.Value) bool {
	_, ok := v.(*script.Object)
	return ok
}

// scriptValue is a variable's value in the engine.
func scriptValue(vm *script.VM, v expr.Value) script.Value {
	switch {
	case v.JSON == "":
		return nil
	case v.JSON[0] == '"':
		return vm.ToValue(v.Text)
	case v.JSON == "true" || v.JSON == "false":
		return vm.ToValue(v.JSON == "true")
	case v.JSON == "null":
		return vm.ToValue(nil)
	case v.JSON[0] != '{' && v.JSON[0] != '[':
		if i, err := strconv.ParseInt(v.JSON, 10, 64); err == nil && i > -1<<53 && i < 1<<53 {
			return vm.ToValue(i)
		}
		f, _ := strconv.ParseFloat(v.JSON, 64)
		return vm.ToValue(f)
	}
	made, err := method(vm, vm.GlobalObject().Get("JSON").(*script.Object), "parse", v.JSON)
	if err != nil {
		return nil
	}
	return made
}

// maxScriptValue bounds the text of one variable that a script sets.
const maxScriptValue = 8 << 20

// exprValue is a script's value as the plan's templates write it.
func exprValue(vm *script.VM, v script.Value) (expr.Value, error) {
	if script.IsUndefined(v) || script.IsFunction(v) {
		return expr.Value{}, nil
	}
	if o, ok := v.(*script.Object); ok {
		text, err := method(vm, vm.GlobalObject().Get("JSON").(*script.Object), "stringify", o)
		if err != nil || script.IsUndefined(text) {
			return expr.Value{}, err
		}
		doc, ok := expr.ParseDocument(text.String())
		if !ok || len(text.String()) > maxScriptValue {
			return expr.Value{}, whittle.Errorf(whittle.ResourceExhausted, "a variable of more than %d bytes or %d values", maxScriptValue, expr.MaxDocuments)
		}
		value := doc.Value()
		value.Text = text.String() // of a text such as a date's, its JSON
		return value, nil
	}
	switch x := v.Export().(type) {
	case nil:
		return expr.Value{Text: "null", JSON: "null"}, nil
	case bool:
		return expr.Value{Text: strconv.FormatBool(x), JSON: strconv.FormatBool(x)}, nil
	case string:
		if len(x) > maxScriptValue {
			return expr.Value{}, whittle.Errorf(whittle.ResourceExhausted, "a variable of more than %d bytes", maxScriptValue)
		}
		return expr.TextValue(x), nil
	}
	if !script.IsNumber(v) { // NaN, which is written as a text, and alone as nothing
		return expr.Value{Text: v.String(), JSON: `""`}, nil
	}
	return expr.Value{Text: v.String(), JSON: v.String()}, nil
}
