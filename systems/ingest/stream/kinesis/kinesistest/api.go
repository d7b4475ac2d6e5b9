// Package kinesistest runs a Kinesis API on this machine, and makes it fail:
// for tests, audits and the demo.
package kinesistest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"

	"whittle"
	"whittle/internal/checkout"
	"whittle/internal/child"
)

const (
	startTimeout  = 20 * time.Second
	streamTimeout = 10 * time.Second
	startAttempts = 3
)

// room is where kinesis-local's npm package is installed, from the checkout's root.
const room = "systems/ingest/stream/kinesis/kinesistest"

// The programs that can be the API.
const (
	Ferrokinesis = "ferrokinesis"
	KinesisLocal = "kinesis-local"
)

// Install is what to do where no program can be the API.
const Install = "make deps, or cargo install ferrokinesis --version 0.7.0 --locked"

// API is a Kinesis API in a process of its own, without TLS. It takes any
// credentials.
type API struct {
	// URL is its endpoint on loopback.
	URL string
	// Program is Ferrokinesis or KinesisLocal.
	Program string

	process *child.Process
}

// Region is the region that the API's streams are in.
const Region = "us-east-1"

// Start runs ferrokinesis where it is installed (the program that the environment's
// FERROKINESIS names, on PATH, or in ~/.cargo/bin), and kinesis-local by Node otherwise.
// Unsupported: neither is there. The caller ends it with Close.
func Start(ctx context.Context) (*API, error) {
	var err error
	for range startAttempts {
		// Neither program takes port 0 and says what it got, so another process
		// may be given the port in between; then the next attempt has another.
		var a *API
		if a, err = startOnce(ctx); err == nil {
			return a, nil
		}
		if code := whittle.CodeOf(err); ctx.Err() != nil || code == whittle.Unsupported || code == whittle.Invalid {
			break
		}
	}
	return nil, err
}

func startOnce(ctx context.Context) (*API, error) {
	port, err := freePort(ctx)
	if err != nil {
		return nil, whittle.Errorf(whittle.Unavailable, "start a Kinesis API: find a port: %w", err)
	}
	a := &API{URL: fmt.Sprintf("http://127.0.0.1:%d", port)}
	var argv []string
	var how child.Options
	if argv, how, a.Program, err = command(ctx, port); err != nil {
		return nil, err
	}
	if a.process, err = child.Spawn(how, argv...); err != nil {
		return nil, whittle.Errorf(whittle.Unavailable, "%s: %w", a.Program, err)
	}
	client, end := a.Client()
	defer end()
	soon, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	err = a.process.Await(soon, func(ctx context.Context) error {
		_, err := client.ListStreams(ctx, &kinesis.ListStreamsInput{}, once)
		return err
	})
	if err != nil {
		return nil, whittle.Errorf(whittle.Unavailable, "%s: %w", a.Program, err)
	}
	return a, nil
}

// command returns the process to start, and the program that it is.
func command(ctx context.Context, port int) (argv []string, how child.Options, program string, err error) {
	path, err := findFerrokinesis()
	if err != nil {
		return nil, how, "", err
	}
	if path == "" {
		argv, how, err = kinesisLocal(ctx, port)
		return argv, how, KinesisLocal, err
	}
	argv = []string{
		path, "--port", strconv.Itoa(port), "--region", Region, "--log-level", "warn", "--shard-limit", "1000",
		"--create-stream-ms", "0", "--delete-stream-ms", "0", "--update-stream-ms", "0",
		"--enforce-limits", "false",
	}
	return argv, how, Ferrokinesis, nil
}

// findFerrokinesis looks where the environment says, or else on PATH and where
// cargo installs. Empty: there is none.
func findFerrokinesis() (string, error) {
	if named := os.Getenv("FERROKINESIS"); named != "" {
		found, err := exec.LookPath(named)
		if err != nil {
			return "", whittle.Errorf(whittle.Invalid, "start a Kinesis API: FERROKINESIS names no program: %w", err).
				WithHint("unset it to have ferrokinesis looked for on PATH, and kinesis-local taken where there is none")
		}
		return found, nil
	}
	places := []string{Ferrokinesis}
	if home, err := os.UserHomeDir(); err == nil {
		places = append(places, filepath.Join(home, ".cargo", "bin", Ferrokinesis))
	}
	for _, p := range places {
		if found, err := exec.LookPath(p); err == nil {
			return found, nil
		}
	}
	return "", nil
}

func kinesisLocal(ctx context.Context, port int) (argv []string, how child.Options, err error) {
	dir := filepath.Join(checkout.Root(), filepath.FromSlash(room), "node_modules", "kinesis-local")
	if _, err := os.Stat(filepath.Join(dir, "main.js")); err != nil {
		return nil, how, whittle.Errorf(whittle.Unsupported, "start a Kinesis API: there is no ferrokinesis, and no kinesis-local: %w", err).
			WithHint(Install)
	}
	node, err := exec.LookPath("node")
	if err != nil {
		return nil, how, whittle.Errorf(whittle.Unsupported, "start kinesis-local: %w", err).WithHint("install Node.js 20 or newer")
	}
	tls, err := freePort(ctx)
	if err != nil {
		return nil, how, whittle.Errorf(whittle.Unavailable, "start kinesis-local: find a port: %w", err)
	}
	return []string{node, "main.js"}, child.Options{
		Dir: dir, // it reads its certificate from there
		Env: []string{
			fmt.Sprintf("KINESIS_MOCK_PLAIN_PORT=%d", port), fmt.Sprintf("KINESIS_MOCK_TLS_PORT=%d", tls),
			"AWS_REGION=" + Region, "LOG_LEVEL=WARN", "SHARD_LIMIT=1000",
			"CREATE_STREAM_DURATION=1ms", "DELETE_STREAM_DURATION=1ms", "MERGE_SHARDS_DURATION=1ms",
			"SPLIT_SHARD_DURATION=1ms", "UPDATE_SHARD_COUNT_DURATION=1ms",
		},
	}, nil
}

func freePort(ctx context.Context) (int, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

func once(o *kinesis.Options) { o.Retryer = aws.NopRetryer{} }

// Client returns a client of the API, and the function that ends it.
func (a *API) Client() (client *kinesis.Client, end func()) {
	transport := &http.Transport{}
	return kinesis.New(kinesis.Options{
		Region:       Region,
		BaseEndpoint: aws.String(a.URL),
		HTTPClient:   &http.Client{Transport: transport},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local"}, nil
		}),
	}), transport.CloseIdleConnections
}

// CreateStream makes a stream and waits until it can be used.
func (a *API) CreateStream(ctx context.Context, name string, shards int) error {
	ctx, cancel := context.WithTimeout(ctx, streamTimeout)
	defer cancel()
	client, end := a.Client()
	defer end()
	_, err := client.CreateStream(ctx, &kinesis.CreateStreamInput{StreamName: &name, ShardCount: aws.Int32(int32(shards))})
	if err == nil {
		err = kinesis.NewStreamExistsWaiter(client, func(w *kinesis.StreamExistsWaiterOptions) {
			w.MinDelay, w.MaxDelay = 10*time.Millisecond, 100*time.Millisecond
		}).Wait(ctx, &kinesis.DescribeStreamInput{StreamName: &name}, streamTimeout)
	}
	if err != nil {
		return whittle.Errorf(whittle.Unavailable, "create stream %s: %w", name, err)
	}
	return nil
}

// Close ends the process and waits for it.
func (a *API) Close() error {
	a.process.Stop()
	return nil
}
