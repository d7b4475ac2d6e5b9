// Package start has what the services have in common: they show their pprof on a
// port of its own, say where they listen, and end with a signal.
package start

import (
	"fmt"
	"net"
	"net/http"
	_ "net/http/pprof"
	"os"
)

// Planted is n with PLANTED=1 in the environment, when one endpoint is dear, and 1
// without.
func Planted(n int) int {
	if os.Getenv("PLANTED") == "1" {
		return n
	}
	return 1
}

// Listen gives the service's socket, and says where it and its pprof are.
func Listen() net.Listener {
	public, err := net.Listen("tcp", "127.0.0.1:0")
	if err == nil {
		var admin net.Listener
		if admin, err = net.Listen("tcp", "127.0.0.1:0"); err == nil {
			go http.Serve(admin, http.DefaultServeMux)
			fmt.Printf("listening public=%s admin=%s\n", public.Addr(), admin.Addr())
			return public
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
	return nil
}
