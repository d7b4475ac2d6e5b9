package whittle

import "time"

// Upstream is a server that the gateway calls.
type Upstream struct {
	// URL has scheme (http, https or h2c), host and an optional path prefix. A name
	// stands for all of its addresses; unix is followed by the path of a socket.
	URL string
	// Others are the URLs of more instances of the same server, which share its
	// requests; scheme and path are URL's. Empty: there is one.
	Others []string
	// Resolver is the DNS server, host:port, that is asked for the names in URL and
	// Others. Empty: the system's.
	Resolver string
	// Host is the Host that goes upstream: HostOfURL, or a name. Empty: the client's.
	Host string
	// TLS configures TLS to an https upstream.
	TLS UpstreamTLS
	// ConnectTimeout bounds the opening of a connection, TLS included. 0: five seconds.
	ConnectTimeout time.Duration
	// Health says how instances are checked. A zero Interval: they are not.
	Health Health
	// Ejection says when an instance that fails gets no more requests for a time. A
	// zero Consecutive: never.
	Ejection Ejection
	// Panic is the least share of instances that are fit. Below it, all instances get
	// requests, ejected or not, since the few could not bear them.
	Panic Share
	// Build is the operator's name of the running version. Evidence is about one build:
	// another name discards it. Empty: all versions at the URL count as one.
	Build string
	// Timeout bounds a whole mirrored call, and the time to the first byte of
	// a user's call.
	Timeout time.Duration
	// ReadTimeout bounds the silence of the upstream within a response's body,
	// StreamTimeout that within an event stream or a gRPC response. 0: a minute,
	// and an hour.
	ReadTimeout, StreamTimeout time.Duration
	// WriteTimeout bounds how long the upstream may take nothing of a request's
	// body. 0: a minute.
	WriteTimeout time.Duration
	// WaitTimeout bounds how long a user's request waits for one of MaxConns. 0: ten
	// seconds.
	WaitTimeout time.Duration
	// MaxResponse bounds the bytes read of a response that must be held whole
	// (mirrored or transcoded).
	MaxResponse int64
	// MaxConns bounds the connections in use at once.
	MaxConns int
	// Insecure accepts any TLS certificate.
	Insecure bool
}

// HostOfURL is an Upstream.Host: that of its first URL.
const HostOfURL = "url"

// UpstreamTLS configures TLS to an upstream. Its files are PEM, and are read again when they
// change.
type UpstreamTLS struct {
	// CA is a file with the certificates of the trusted authorities. Empty: the system's.
	CA string
	// Certificate and Key are shown to an upstream that asks for one. Empty: none.
	Certificate, Key string
	// ServerName is the name to send (SNI), which the certificate must have; empty: the URL's host.
	ServerName string
	// MinVersion is the least version, as in crypto/tls. 0: 1.2.
	MinVersion uint16
}

// Health says how each instance of an upstream is checked, by requests of whittle's
// own.
type Health struct {
	// Path is asked for with GET. Empty: a connection that can be opened is enough.
	Path string
	// GRPC asks by grpc.health.v1.Health/Check instead, for Service; empty: for the server
	// as a whole.
	GRPC    bool
	Service string
	// Interval is the time between two checks of an instance, give or take a tenth;
	// Timeout bounds each.
	Interval, Timeout time.Duration
	// Unhealthy is how many checks in a row fail until an instance is unhealthy,
	// Healthy how many succeed until it is not.
	Unhealthy, Healthy int
	// Least and Most are the statuses of a check that succeeds.
	Least, Most int
}

// Ejection says when an instance that fails gets no more requests for a time.
type Ejection struct {
	// Consecutive is the number of failed requests in a row (5xx, or no response) that eject
	// an instance.
	Consecutive int
	// Base is the length of the first ejection. Each further one is longer by Base, up to
	// Most.
	Base, Most time.Duration
	// Share bounds the instances that are ejected at once. One may always be, if there are
	// others.
	Share Share
}

// UpstreamStatus is the state of an upstream, with counts since it was made.
type UpstreamStatus struct {
	// URL is the upstream's first.
	URL string `json:"url"`
	// Instances in the order of the config; empty while no address of a name is known.
	Instances []InstanceStatus `json:"instances"`
	// Panic says that so few instances are fit that all of them get requests.
	Panic bool `json:"panic,omitempty"`
	// Elsewhere counts requests that went to another instance than the first chosen.
	Elsewhere     int64 `json:"elsewhere"`
	Ejections     int64 `json:"ejections"`
	ChecksFailed  int64 `json:"checks_failed"`
	LookupsFailed int64 `json:"lookups_failed"`
}

// InstanceStatus is one of an upstream's servers.
type InstanceStatus struct {
	Address string `json:"address"`
	// Running is how many requests are under way there.
	Running int64 `json:"running"`
	// Unhealthy says that its checks fail; Ejected, that requests in a row failed there.
	Unhealthy bool `json:"unhealthy,omitempty"`
	Ejected   bool `json:"ejected,omitempty"`
}
