// Package openfiles fits a server's connections into the process's limit of open
// files. Without that, accepting fails at the limit, and so does every connection to
// another server.
package openfiles

// Fit gives how many of the connections that are wanted fit into a limit with so
// many other files; at least 1. A limit of 0 holds all.
func Fit(limit uint64, wanted, others int) int {
	if limit == 0 || uint64(wanted)+uint64(others) <= limit {
		return wanted
	}
	return min(wanted, max(int(limit)-others, int(limit)/4, 1))
}
