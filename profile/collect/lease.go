package collect

import (
	"context"
	"crypto/rand"
	_ "embed"
	"fmt"
	"net"
)

// leaseSource is the function that takes a lease in a Node process: see there.
//
//go:embed lease.js
var leaseSource string

// lease keeps the inspector of a process open that whittle opened, and closes
// it when this process dies.
type lease struct {
	id string
	// line is where the process has a connection for as long as we live. Nobody
	// accepts it: the kernel makes it, and the kernel breaks it.
	line net.Listener
}

// hold takes a lease on an inspector that was opened just now, or by a whittle
// that holds one of its own. One that somebody else opened needs none.
func (i *inspector) hold(ctx context.Context, opened bool) error {
	line, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	l, held := &lease{id: rand.Text(), line: line}, false
	port := line.Addr().(*net.TCPAddr).Port
	i.linger = keepOpen(i.socket, line.(*net.TCPListener))
	if err = i.evaluate(ctx, fmt.Sprintf("%s(%q, %d, %t)", leaseSource, l.id, port, opened), &held); held {
		i.lease = l
		return nil
	}
	i.linger.end()
	i.linger = keepOpen(i.socket)
	line.Close()
	return err
}
