package report

// The models of a run, as reports name them.
const (
	ModelOpen   = "open"   // users arrive at their intended times, whatever the target does
	ModelClosed = "closed" // a fixed number of users, each of whom waits for its response
)

// The kinds of errors, as the report names them.
const (
	ErrorDNS         = "dns"          // no connection: there is no such name, or nobody says so
	ErrorRefused     = "refused"      // no connection: nobody listens there
	ErrorConnect     = "connect"      // no connection for another reason: unreachable, TLS
	ErrorCertificate = "certificate"  // TLS, by a certificate that is not trusted
	ErrorGenerator   = "generator"    // not sent: this machine has no more sockets, ports or memory for it
	ErrorContract    = "contract"     // not sent: what the plan renders is no URL, or a file that it sends is not there
	ErrorTimeout     = "timeout"      // no complete response in time
	ErrorReset       = "reset"        // the connection broke before the response was complete
	ErrorMalformed   = "malformed"    // the bytes received were no HTTP/1.1 response
	ErrorExpectation = "expectation"  // a response that the plan does not expect
	ErrorServer      = "server_error" // a 5xx that the plan did not ask for
	ErrorCapture     = "capture"      // a response without what the plan captures
	ErrorRedirect    = "redirect"     // a redirect to nowhere, or one too many
	ErrorScript      = "script"       // a function of the plan's JavaScript failed
)

// kinds are all of them, in the order in which they are listed to people.
var kinds = []string{
	ErrorGenerator, ErrorDNS, ErrorRefused, ErrorConnect, ErrorCertificate, ErrorContract, ErrorTimeout,
	ErrorReset, ErrorMalformed, ErrorExpectation, ErrorServer, ErrorCapture, ErrorRedirect, ErrorScript,
}

// artilleryErrors are the names that Artillery's users know; other kinds keep
// their own.
var artilleryErrors = map[string]string{ErrorTimeout: "ETIMEDOUT", ErrorRefused: "ECONNREFUSED", ErrorDNS: "ENOTFOUND", ErrorReset: "ECONNRESET"}

// kindOf returns the kind of errors that a plan means, by whittle's name or by
// Artillery's; false where it is neither.
func kindOf(name string) (string, bool) {
	for _, kind := range kinds {
		if name == kind || name == artilleryErrors[kind] && name != "" {
			return kind, true
		}
	}
	return "", false
}
