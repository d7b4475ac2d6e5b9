package plan

import "os"

// Source is where files and environment variables of a plan come from. The zero
// value is the file system and the process's environment.
type Source struct {
	// Environment chooses one of config.environments. Empty: none.
	Environment string
	// Open reads a file that a plan names. Nil: the file system, in the plan's
	// folder.
	Open func(name string) ([]byte, error)
	// Getenv is the value of {{ $env.NAME }}. Nil: os.Getenv.
	Getenv func(string) string
	// Properties are those of a JMeter plan's __P and __property.
	Properties map[string]string
}

// Env returns a variable of the environment.
func (s Source) Env(name string) string {
	if s.Getenv != nil {
		return s.Getenv(name)
	}
	return os.Getenv(name)
}
