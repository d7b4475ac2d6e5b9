package main

// recordVerb keeps exchanges, and is the exchange log on the command line.
type recordVerb struct {
	Live   recordLive   `cmd:"" default:"withargs" help:"Record what passes to a monolith and back (the default)."`
	Ls     recordLs     `cmd:"" help:"Say what a log has: routes, targets, answers, times."`
	Show   recordShow   `cmd:"" help:"Show a log's exchanges, as they come if asked to."`
	Export recordExport `cmd:"" help:"Write a log as an HTTP Archive (HAR)."`
	Import recordImport `cmd:"" help:"Add what a browser or a proxy saved (HAR) to a log, redacted."`
	Verify recordVerify `cmd:"" help:"Read all of a log and say what is damaged."`
}
