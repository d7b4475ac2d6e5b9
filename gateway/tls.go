package gateway

// TLS names the files of a certificate, PEM. They are read again when they
// change; a bad pair is logged and the one before stays in use.
type TLS struct {
	// Certificate is the chain, the server's own certificate first.
	Certificate string
	Key         string
}
