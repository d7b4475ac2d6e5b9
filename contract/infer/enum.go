package infer

import (
	"maps"
	"slices"
	"strings"

	"whittle/contract"
)

// enum is a set of words at one place.
type enum struct {
	// hint is what the field is called, above the message around it.
	hint, above string
	// before is the enum's name in the contract of the earlier run.
	before string
	words  []string
	// made is what comes of it.
	made *madeEnum
}

func (e *enum) name() string {
	if e == nil || e.made == nil {
		return ""
	}
	return e.made.Name
}

// madeEnum is an enum of the contract, and which of its words are new.
type madeEnum struct {
	contract.Enum

	fresh []string
}

// asEnum makes a string an enum where its words are a set beyond reasonable
// doubt. What the earlier run had decided stays: a string is one for good, and
// an enum takes new words as long as they can be some.
func (i *inference) asEnum(t typed, key, above string, s *texts, was *contract.Field) typed {
	if t.typ != contract.String || i.o.KeepWords || s.n == 0 {
		return t
	}
	e := &enum{hint: key, above: above, words: slices.Sorted(maps.Keys(s.words))}
	switch {
	case was != nil && was.Type == contract.EnumType:
		if e.before = was.Ref; !i.before.takes(e) || s.many {
			return t
		}
	case was != nil || s.doubt(key) != "":
		return t
	}
	t.typ, t.enum = contract.EnumType, e
	return t
}

// takes reports whether an enum of the earlier run can have all of the words.
func (e *earlier) takes(words *enum) bool {
	was := e.c.Enum(words.before)
	if was == nil {
		return false
	}
	n := len(was.Words())
	for _, w := range words.words {
		if was.Value(w) == nil {
			n++
		}
	}
	return n <= maxWords
}

// enums makes the contract's enums of what the places ask for.
type enums struct {
	by   map[string]*madeEnum
	list []*madeEnum
}

// settle gives a field's words their enum: the earlier run's, that of a field of
// the same name with the same words, or a new one.
func (i *inference) settle(e *enum) {
	if e == nil {
		return
	}
	id := "was " + e.before
	if e.before == "" {
		id = strings.Join(append([]string{"new", e.hint}, e.words...), "\x00")
	}
	m := i.enums.by[id]
	if m == nil {
		if m = i.earlierEnum(e.before); m == nil {
			m = &madeEnum{Enum: contract.NewEnum(i.enumName(e), i.isTaken)}
		}
		i.enums.by[id] = m
		i.enums.list = append(i.enums.list, m)
	}
	for _, w := range e.words {
		if m.Value(w) == nil {
			m.Add(w, i.isTaken)
			m.fresh = append(m.fresh, w)
		}
	}
	i.taken[m.Name] = true
	for _, v := range m.Values {
		i.taken[v.Name] = true
	}
	e.made = m
}

func (i *inference) isTaken(name string) bool { return i.taken[name] }

// earlierEnum is the earlier run's, to be added to. Nil: there is none.
func (i *inference) earlierEnum(name string) *madeEnum {
	if i.before == nil || name == "" {
		return nil
	}
	was := i.before.c.Enum(name)
	if was == nil {
		return nil
	}
	return &madeEnum{Enum: contract.Enum{Name: was.Name, Values: slices.Clone(was.Values)}}
}

// enumName is made of the message and the field: "status" of Order is
// OrderStatus. A method's own messages go by the method.
func (i *inference) enumName(e *enum) string {
	above := strings.TrimSuffix(strings.TrimSuffix(e.above, "Request"), "Response")
	return contract.Unique(contract.TypeName(above+"_"+contract.Singular(e.hint)), "", i.isTaken)
}

// addEnum puts an enum into the contract.
func (i *inference) addEnum(e *contract.Enum) {
	if e != nil && i.c.Enum(e.Name) == nil {
		i.c.Enums = append(i.c.Enums, *e)
	}
}

// keepEnum puts an enum of the earlier run into the contract, with the words
// that other fields have added.
func (i *inference) keepEnum(name string) {
	if m := i.enums.by["was "+name]; m != nil {
		i.addEnum(&m.Enum)
		return
	}
	i.addEnum(i.before.c.Enum(name))
}
