package report

// The models of a run, as reports name them.
const (
	ModelOpen   = "open"   // arrivals come at their times, whatever the target does
	ModelClosed = "closed" // so many users, each of whom waits for its answer
)

// The kinds of errors, as the report names them.
const (
	ErrorConnect     = "connect"      // no connection: refused, unreachable, TLS
	ErrorCertificate = "certificate"  // TLS, by a certificate that is not trusted
	ErrorContract    = "contract"     // not sent: the body is not of gRPC's contract
	ErrorTimeout     = "timeout"      // no whole answer in time
	ErrorReset       = "reset"        // the connection broke before the answer was whole
	ErrorMalformed   = "malformed"    // what came was not an HTTP/1.1 answer
	ErrorExpectation = "expectation"  // an answer other than the plan expects
	ErrorServer      = "server_error" // a 5xx that the plan did not ask for
	ErrorCapture     = "capture"      // an answer without what the plan captures
	ErrorRedirect    = "redirect"     // a redirect to nowhere, or one too many
)
