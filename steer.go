package whittle

import "time"

// Steer says which of the team's proxies send a route's users to the candidate. Exactly one of
// the ways is set.
type Steer struct {
	HAProxy   *SteerHAProxy
	Envoy     *SteerEnvoy
	Nginx     *SteerNginx
	HTTPRoute *SteerHTTPRoute
	Command   *SteerCommand
	// Timeout bounds one attempt to set a share, with its confirmation. Every is the time
	// between two checks of the share in force.
	Timeout, Every time.Duration
}

// SteerHAProxy is an entry of a map. It holds the share in hundredths of a percent.
type SteerHAProxy struct {
	// Sockets are the runtime APIs of all instances: unix:PATH, or HOST:PORT.
	Sockets  []string
	Map, Key string
}

// SteerEnvoy is a pair of weights in the runtime. Their sum is 10,000.
type SteerEnvoy struct {
	// Admin are the URLs of all instances' admin interfaces.
	Admin []string
	// Candidate and Monolith are the weights' keys.
	Candidate, Monolith string
}

// SteerNginx is a file that whittle writes and nginx's configuration includes.
type SteerNginx struct {
	File, PIDFile string
	// Flag is a file that exists while the share is 0.
	Flag string
	// URL responds with the share in force, in hundredths of a percent.
	URL string
	// Name begins the names of the variables.
	Name string
}

// SteerHTTPRoute is a pair of weights in an HTTPRoute of Kubernetes.
type SteerHTTPRoute struct {
	Namespace, Name string
	// Candidate and Monolith are the names of the backends.
	Candidate, Monolith string
	// Server is the API's URL. Empty: that of the cluster that whittle runs in.
	Server string
	// Token and CA are files with the token and the API's authorities.
	Token, CA string
}

// SteerCommand is a program for each way; the first word is its name.
type SteerCommand struct {
	// Set gets the share in the environment. Read prints it, in percent. Read nil: the share
	// cannot be read.
	Set, Read []string
}

// SteerStatus says which proxies have put a route's share in force.
type SteerStatus struct {
	// By is the kind of proxy: "haproxy".
	By string `json:"by"`
	// Share is the share that they were told. UnderWay is the change that not all of them have
	// confirmed: "rise to 25 %", "fall to 0 %". Empty: all have.
	Share    Share  `json:"share_bp"`
	UnderWay string `json:"under_way,omitempty"`
	// Wait is why the share may not rise, as a clause: a proxy has not confirmed it, or has
	// another one by now. Empty: it may rise.
	Wait    string          `json:"wait,omitempty"`
	Proxies []SteerInstance `json:"proxies"`
}

// SteerInstance is one proxy.
type SteerInstance struct {
	Name string `json:"name"`
	// Share was in force there at Read. Read zero: the share is unknown.
	Share Share     `json:"share_bp"`
	Read  time.Time `json:"read,omitzero"`
	// Confirmed says that Share is the one that whittle has set.
	Confirmed bool `json:"confirmed"`
	// Trouble is why it is not, as a clause. Empty while the first attempt is under way.
	Trouble string `json:"trouble,omitempty"`
	// Note is an event since the share was set, as a clause: the proxy had a higher share, and
	// whittle set it back.
	Note string `json:"note,omitempty"`
}
