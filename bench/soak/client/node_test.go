package client

import (
	"context"
	"io"
	"testing"

	"whittle/bench/soak/plan"
)

// A process that does not read its input before somebody has read its output, as one that
// writes synchronously, is not waited for by either side: a response is taken while
// another request is on its way.
func TestNodeIsReadWhileItIsWrittenTo(t *testing.T) {
	in, toNode := io.Pipe()
	fromNode, out := io.Pipe()
	n := &Node{in: toNode, waiting: map[uint64]chan nodeResponse{}}
	first := make(chan nodeResponse, 1)
	n.waiting[1] = first
	go n.read(fromNode)
	asked := make(chan Outcome, 1)
	go func() {
		u := &nodeUser{n: n, name: "x"}
		asked <- u.ask(context.Background(), &plan.Plan{Number: 2, Status: 200})
	}()
	var head [1]byte
	if _, err := io.ReadFull(in, head[:]); err != nil { // the request is on its way, and not read
		t.Fatal(err)
	}
	if _, err := io.WriteString(out, `{"id":1,"status":200}`+"\n"); err != nil {
		t.Fatal(err)
	}
	if a := <-first; a.Status != 200 {
		t.Errorf("%+v", a)
	}
	go func() { _, _ = io.Copy(io.Discard, in) }()
	if _, err := io.WriteString(out, `{"id":2,"error":"reset"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	if o := <-asked; o.Class != Broken || o.Text != "reset" {
		t.Errorf("%+v", o)
	}
	_ = out.Close()
}
