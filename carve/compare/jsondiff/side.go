package jsondiff

import "whittle/carve/compare/jsondoc"

var noNodes = [2]uint32{jsondoc.None, jsondoc.None}

// Side is one side of a place in JSON.
type Side struct {
	Doc   *jsondoc.Document
	node  uint32
	trail []jsondoc.Place // of the node
	chain []uint32        // the nodes from the root to it
}

// find reads the trail from the document's root.
func (s *Side) find() {
	if s.node == jsondoc.None {
		return
	}
	s.chain = append(s.chain, 0)
	for cur := uint32(0); cur != s.node; {
		child, at := s.Doc.ChildOver(cur, s.node)
		if child == jsondoc.None {
			return
		}
		s.trail, s.chain = append(s.trail, at), append(s.chain, child)
		cur = child
	}
}

// Text is the value of a side; nil where it has none.
func (s *Side) Text() []byte {
	if s.node == jsondoc.None {
		return nil
	}
	return s.Doc.Text(s.node)
}

// ListWith gives the innermost lists in which two places lie, or which they are.
func (s *Side) ListWith(t *Side) (x, y uint32, ok bool) {
	for depth := min(len(s.chain), len(t.chain)) - 1; depth >= 0; depth-- {
		x, y = s.chain[depth], t.chain[depth]
		if s.Doc.Nodes[x].Kind == jsondoc.Array && t.Doc.Nodes[y].Kind == jsondoc.Array {
			return x, y, true
		}
	}
	return 0, 0, false
}

// Sides are where a difference is in the two documents, until the next comparison; ok is false where
// the bodies are compared as whole texts.
func (j *Differ) Sides(d *Difference) (from, to Side, ok bool) {
	if d.nodes == noNodes {
		return from, to, false
	}
	from = Side{Doc: &j.a, node: d.nodes[0]}
	to = Side{Doc: &j.b, node: d.nodes[1]}
	from.find()
	to.find()
	return from, to, true
}

// Values are what stands there, nil where nothing does, until the next comparison.
func (j *Differ) Values(d *Difference, monolith, candidate []byte) (from, to []byte) {
	if d.nodes == noNodes {
		return j.masked(monolith), j.masked(candidate)
	}
	a, b := Side{Doc: &j.a, node: d.nodes[0]}, Side{Doc: &j.b, node: d.nodes[1]}
	return a.Text(), b.Text()
}
