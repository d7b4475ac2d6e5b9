//go:build demo_count

package main

// demoVerb is the count walk alone: make demo builds no more than it needs, and so no library
// of AWS's.
type demoVerb struct {
	Count demoCountVerb `cmd:"" help:"Carve the count endpoint: refuse flawed services, prove the mended one, shift, break, roll back, finish."`
}
