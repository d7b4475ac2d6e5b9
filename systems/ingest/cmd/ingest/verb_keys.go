package main

import (
	"bufio"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode"

	"whittle"
	"whittle/systems/ingest/front"
)

type keysVerb struct {
	New  keysNewVerb  `cmd:"" help:"Make a write key, and the line of it for --keys."`
	Hash keysHashVerb `cmd:"" help:"Replace the keys of a list by their hashes: the list in, the list out."`
}

type keysNewVerb struct {
	Name  string `required:"" placeholder:"NAME" help:"The source's name: in metrics, the log and dead letters."`
	Allow string `default:"events,import" placeholder:"RIGHTS" help:"What it may send (${default}): events, import, replay, or none."`
	Rate  string `placeholder:"N/UNIT" help:"How many events it may send, such as 100/s or 5000/m. Without it: any."`
}

// keyBytes are a key's random bytes.
const keyBytes = 20

// Run prints the line for the list, and the key itself on the error output: it
// is nowhere else.
func (v *keysNewVerb) Run(s streams) error {
	var random [keyBytes]byte
	rand.Read(random[:])
	key := hex.EncodeToString(random[:])
	hash, err := front.HashKey(key)
	if err != nil {
		return err
	}
	for flag, value := range map[string]string{"--name": v.Name, "--allow": v.Allow, "--rate": v.Rate} {
		if strings.ContainsFunc(value, unicode.IsSpace) { // behind it would be a note
			return whittle.Errorf(whittle.Invalid, "%s %q has a space in it", flag, value)
		}
	}
	line := hash + " name=" + v.Name + " allow=" + v.Allow
	if v.Rate != "" {
		line += " rate=" + v.Rate
	}
	if err := front.CheckKeys(line); err != nil {
		return err
	}
	fmt.Fprintln(s.out, line)
	fmt.Fprintf(s.err, "the write key, which is not kept: %s\n", key)
	return nil
}

type keysHashVerb struct{}

// Help returns the examples.
func (keysHashVerb) Help() string {
	return `Reads a list of write keys and prints it with a hash in place of each key that stands there as it is; all else stays.

Example:
  ingest keys hash < keys.txt > hashed.txt`
}

// Run copies the list.
func (keysHashVerb) Run(s streams) error {
	lines := bufio.NewScanner(s.in)
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		fields := strings.Fields(line)
		if len(fields) > 0 && !strings.HasPrefix(fields[0], "#") && !strings.HasPrefix(fields[0], "sha256:") {
			hash, err := front.HashKey(fields[0])
			if err != nil {
				return whittle.Errorf(whittle.Invalid, "line %d: %w", n, err)
			}
			line = strings.Replace(line, fields[0], hash, 1)
		}
		fmt.Fprintln(s.out, line)
	}
	if err := lines.Err(); err != nil {
		return whittle.Errorf(whittle.Invalid, "read the list: %w", err)
	}
	return nil
}
