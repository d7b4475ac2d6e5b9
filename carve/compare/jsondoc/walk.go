package jsondoc

import (
	"bytes"
	"slices"
)

// Key is the text that a key node stands for, never nil.
func (d *Document) Key(i uint32) []byte {
	quoted := d.Text(i)
	if !d.Nodes[i].Escaped {
		return quoted[1 : len(quoted)-1 : len(quoted)-1]
	}
	s, _ := Unquote([]byte{}, quoted)
	return slices.Clip(s)
}

// ChildOver gives the value of a container in which a node lies, with its place.
func (d *Document) ChildOver(container, target uint32) (child uint32, at Place) {
	n := &d.Nodes[container]
	for i, nth := container+1, 0; i < n.Next; nth++ {
		v := i
		if n.Kind == Object {
			v++
		}
		if v <= target && target < d.Nodes[v].Next {
			if n.Kind == Object {
				return v, Place{Key: d.Key(i)}
			}
			return v, Place{Index: nth}
		}
		i = d.Nodes[v].Next
	}
	return None, Place{}
}

// Elements are the nodes of an array's elements.
func (d *Document) Elements(array uint32) []uint32 {
	n := &d.Nodes[array]
	list := make([]uint32, 0, n.Count)
	for i := array + 1; i < n.Next; i = d.Nodes[i].Next {
		list = append(list, i)
	}
	return list
}

// Member is the value of a key of an object.
func (d *Document) Member(object uint32, key []byte) (uint32, bool) {
	if d.Nodes[object].Kind != Object {
		return 0, false
	}
	for i := object + 1; i < d.Nodes[object].Next; i = d.Nodes[i+1].Next {
		if bytes.Equal(d.Key(i), key) {
			return i + 1, true
		}
	}
	return 0, false
}
