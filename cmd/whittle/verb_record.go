package main

// recordVerb keeps exchanges, and is the exchange log on the command line.
type recordVerb struct {
	Live   recordLive   `cmd:"" default:"withargs" help:"Record what passes to a monolith and back (the default)."`
	Ls     recordLs     `cmd:"" help:"Say what a log has: routes, targets, responses, times."`
	Show   recordShow   `cmd:"" help:"Show a log's exchanges, as they come if asked to."`
	Export recordExport `cmd:"" help:"Write a log as an HTTP Archive (HAR)."`
	Import recordImport `cmd:"" help:"Add what a browser or a proxy saved (HAR) to a log, redacted."`
	Verify recordVerify `cmd:"" help:"Read all of a log and say what is damaged."`
}

// Help gives the examples.
func (recordVerb) Help() string {
	return `Without a further word it stands in front of a monolith and records what passes; "whittle record live --help" has the flags. What is secret is taken out before anything reaches the disk.

Examples:
  whittle record --listen :8080 --monolith http://127.0.0.1:3000 --to recorded
  whittle record --monolith http://127.0.0.1:3000 --to recorded --sample 10% --for 10m
  whittle record ls recorded            # what is in it
  whittle record show recorded 17       # one exchange whole
  whittle replay recorded --against http://127.0.0.1:8090`
}
