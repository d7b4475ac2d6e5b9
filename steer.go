package whittle

import "time"

// Steer says which proxies of the team's own send a route's users to the candidate. One of
// the ways is not nil.
type Steer struct {
	HAProxy   *SteerHAProxy
	Envoy     *SteerEnvoy
	Nginx     *SteerNginx
	HTTPRoute *SteerHTTPRoute
	Command   *SteerCommand
	// Timeout bounds one attempt to set a share, with its confirmation. Every is the time
	// between two looks at what is in force.
	Timeout, Every time.Duration
}

// SteerHAProxy is an entry of a map, which holds the share in hundredths of a percent.
type SteerHAProxy struct {
	// Sockets are the runtime APIs of all instances: unix:PATH, or HOST:PORT.
	Sockets  []string
	Map, Key string
}

// SteerEnvoy is a pair of weights in the runtime, which sum up to 10,000.
type SteerEnvoy struct {
	// Admin are the URLs of all instances' admin interfaces.
	Admin []string
	// Candidate and Monolith are the weights' keys.
	Candidate, Monolith string
}

// SteerNginx is a file of the configuration, which whittle writes and nginx includes.
type SteerNginx struct {
	File, PIDFile string
	// Flag is a file that is there while the share is 0.
	Flag string
	// URL responds with the share that is in force, in hundredths of a percent.
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
	// Set gets the share in the environment. Read writes it, in percent; nil: it cannot be read.
	Set, Read []string
}

// SteerStatus says how far proxies have put a route's share in force.
type SteerStatus struct {
	// By is the kind of proxy: "haproxy".
	By string `json:"by"`
	// Share is what they were told, UnderWay that not all of them have confirmed it: "rise to
	// 25 %", "fall to 0 %". Empty: all have.
	Share    Share  `json:"share_bp"`
	UnderWay string `json:"under_way,omitempty"`
	// Wait is why no share may rise, as a clause: one has not confirmed the share, or has
	// another one by now. Empty: it may.
	Wait    string          `json:"wait,omitempty"`
	Proxies []SteerInstance `json:"proxies"`
}

// SteerInstance is one proxy.
type SteerInstance struct {
	Name string `json:"name"`
	// Share is what was in force there at Read. Zero Read: it is not known.
	Share Share     `json:"share_bp"`
	Read  time.Time `json:"read,omitzero"`
	// Confirmed says that it is the share that whittle has set.
	Confirmed bool `json:"confirmed"`
	// Trouble is why it is not, as a clause. Empty: it is, or the first attempt is under way.
	Trouble string `json:"trouble,omitempty"`
	// Note is what else was seen there since the share was set, as a clause: more than the
	// share, which was set again.
	Note string `json:"note,omitempty"`
}
