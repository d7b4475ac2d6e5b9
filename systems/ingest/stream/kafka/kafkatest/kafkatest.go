// Package kafkatest runs a real Apache Kafka broker on loopback, for tests,
// audits, benchmarks and demos. It needs Java 17 and Maven; the broker's jars
// come from Maven's central repository once and are kept in a cache folder.
package kafkatest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"whittle"
	"whittle/internal/child"
)

// Version is the release of Apache Kafka that is started.
const Version = "4.1.1"

// Install is what to do where Java or Maven is missing.
const Install = "apt-get install openjdk-17-jre-headless maven"

// Broker is one broker, which is its own controller (KRaft). Its methods are
// called by one goroutine at a time.
type Broker struct {
	dir     string // deleted at Close
	jars    string
	client  string // its addresses
	control string
	process *child.Process
}

// Missing says what the machine lacks to run a broker, and how to install it.
// Nil: nothing.
func Missing() error {
	for _, tool := range []string{"java", "mvn"} {
		if _, err := exec.LookPath(tool); err != nil {
			return whittle.Errorf(whittle.FailedPrecondition, "no Kafka broker can be started: %s is not installed", tool).
				WithHint(Install)
		}
	}
	return nil
}

// Start fetches the jars where they are not there yet, makes a data folder,
// starts a broker, and returns when it responds.
func Start(ctx context.Context) (*Broker, error) {
	if err := Missing(); err != nil {
		return nil, err
	}
	jars, err := fetch(ctx)
	if err != nil {
		return nil, err
	}
	addresses, err := child.Addresses(2)
	if err != nil {
		return nil, fmt.Errorf("find addresses: %w", err)
	}
	b := &Broker{jars: jars, client: addresses[0], control: addresses[1]}
	if b.dir, err = os.MkdirTemp("", "kafka-"); err != nil {
		return nil, fmt.Errorf("make broker folder: %w", err)
	}
	if err = b.configure(); err == nil {
		err = b.Restart(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// Address is the broker's host and port. It stays the same over restarts.
func (b *Broker) Address() string { return b.client }

// Restart starts the broker again on the same addresses and data after Kill, and
// returns when it responds.
func (b *Broker) Restart(ctx context.Context) error {
	if b.process != nil {
		return whittle.Errorf(whittle.FailedPrecondition, "the broker runs already")
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(b.Address()))
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	defer client.Close()
	p, err := child.Spawn(child.Options{Dir: b.dir, Log: filepath.Join(b.dir, "output.log")}, b.java()...)
	if err != nil {
		return fmt.Errorf("start broker: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := p.Await(ctx, client.Ping); err != nil {
		return whittle.Errorf(whittle.Unavailable, "start broker: %w", err)
	}
	b.process = p
	return nil
}

// Kill ends the broker with SIGKILL, as a crash would, and returns when it is gone.
func (b *Broker) Kill() {
	if b.process != nil {
		b.process.Kill()
		b.process = nil
	}
}

// Pause freezes the broker (SIGSTOP): its connections stay open and nothing
// responds, until Kill.
func (b *Broker) Pause() error { return b.process.Signal(syscall.SIGSTOP) }

// Close ends the broker, and deletes its folder.
func (b *Broker) Close() error {
	b.Kill()
	return os.RemoveAll(b.dir)
}
