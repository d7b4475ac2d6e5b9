package scaffold

// Ports of a made service, public and admin. Browsers and Node's fetch refuse
// some ports whatever listens there (the fetch standard's bad ports, 6666 and
// 6667 among them); these are none of those, and not the gateway's 8080 and 8081.
const (
	servicePort = 8090
	adminPort   = 8091
)

// Port is the service's public one.
func (v *view) Port() int { return servicePort }

// AdminPort is that of health, metrics and profiles.
func (v *view) AdminPort() int { return adminPort }
