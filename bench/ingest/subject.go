package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"whittle"
	"whittle/bench/server"
	"whittle/bench/table"
	"whittle/systems/ingest/stream/kinesis/kinesistest"
)

// The subjects, as the rows name them.
const (
	ours    = "ingest"
	kinesis = "ingest-kinesis"
	node    = "node"            // by a call of PutRecord for each event
	batched = "node-putrecords" // by one of PutRecords for all that wait, as ours
	benthos = "benthos"
	bare    = "net/http"
	grouped = "net/http-group"
)

// subject is a server under measurement.
type subject struct {
	name string
	*server.Server
}

// subjects is all that runs at once. Who is not measured waits for requests.
type subjects struct {
	subjects []subject
	api      *kinesistest.API // nil: there is none here
}

func (h *subjects) end() error {
	for _, x := range h.subjects {
		x.Stop()
	}
	if h.api == nil {
		return nil
	}
	return h.api.Close()
}

// find returns a subject; false where it is missing on this machine.
func (h *subjects) find(name string) (subject, bool) {
	for _, x := range h.subjects {
		if x.name == name {
			return x, true
		}
	}
	return subject{}, false
}

func (h *subjects) add(name string, p *server.Server, err error) error {
	if err == nil && p != nil {
		h.subjects = append(h.subjects, subject{name, p})
	}
	return err
}

// open starts every subject that can be found.
func open(ctx context.Context, s settings) (_ *subjects, err error) {
	h := &subjects{}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.end())
		}
	}()
	for _, x := range []struct {
		name  string
		start func() (*server.Server, error)
	}{
		{ours, func() (*server.Server, error) {
			return startIngest(ctx, s, nil, "--sink", "embedded", "--data", filepath.Join(s.folder, "log"), "--retain-bytes", strconv.Itoa(retained))
		}},
		{bare, func() (*server.Server, error) { return server.Start(ctx, nil, server.Self(), bareRole) }},
		{grouped, func() (*server.Server, error) { return server.Start(ctx, nil, server.Self(), groupRole) }},
		{benthos, func() (*server.Server, error) { return startBenthos(ctx, s) }},
	} {
		if !s.needs(x.name) {
			continue
		}
		p, err := x.start()
		if err := h.add(x.name, p, err); err != nil {
			return nil, err
		}
	}
	if s.needs(kinesis) || s.needs(node) || s.needs(batched) {
		err = h.openKinesis(ctx, s)
	}
	return h, err
}

// openKinesis starts those that put events onto a Kinesis stream: the Node
// counterpart in its two ways, and the service doing the same.
func (h *subjects) openKinesis(ctx context.Context, s settings) error {
	binary, err := exec.LookPath("node")
	if err != nil {
		fmt.Println("node is missing and left out, with the Kinesis API's measurements: apt-get install nodejs npm")
		return nil //nolint:nilerr // as with a peer that is not there
	}
	h.api, err = kinesistest.Start(ctx, kinesistest.Options{})
	if whittle.CodeOf(err) == whittle.Unsupported {
		fmt.Println("no Kinesis API, so node and ingest-kinesis are left out:", err)
		return nil
	}
	if err != nil { // one that is there and does not start fails the benchmark, as ours would
		return err
	}
	fmt.Println("the Kinesis API is", h.api.Program)
	env := []string{"AWS_REGION=" + kinesistest.Region, "AWS_ACCESS_KEY_ID=local", "AWS_SECRET_ACCESS_KEY=local", "AWS_ENDPOINT_URL=" + h.api.URL}
	for _, name := range []string{node, batched, kinesis} {
		if err := h.api.CreateStream(ctx, name, 4); err != nil {
			return err
		}
	}
	for name, call := range map[string]string{node: "PutRecord", batched: "PutRecords"} {
		if !s.needs(name) {
			continue
		}
		p, err := server.Start(ctx, append(env, "KINESIS_STREAM="+name, "KINESIS_CALL="+call, "PORT=0", "NODE_ENV=production"), binary, "systems/ingest/node/server.js")
		if err := h.add(name, p, err); err != nil {
			return err
		}
	}
	if !s.needs(kinesis) {
		return nil
	}
	p, err := startIngest(ctx, s, env, "--sink", "kinesis", "--kinesis-stream", kinesis, "--kinesis-raw", "--dead", "none")
	return h.add(kinesis, p, err)
}

func startIngest(ctx context.Context, s settings, env []string, flags ...string) (*server.Server, error) {
	command := []string{s.ingest, "serve", "--env-file", "", "--host", "127.0.0.1", "--port", "0", "--admin", "127.0.0.1:0", "--log-level", "ERROR"}
	return server.Start(ctx, env, append(command, flags...)...)
}

// benthosConfig takes a body as one message, or a batch as its events, and
// appends them to a file. It responds when they are written, which is not when
// they are synced: it can do no more.
const benthosConfig = `http: {enabled: true, address: "{{addr}}"}
logger: {level: ERROR}
metrics: {none: {}}
input:
  broker:
    inputs:
    - http_server: {path: /import, allowed_verbs: [POST], timeout: 30s}
    - http_server: {path: /v1/batch, allowed_verbs: [POST], timeout: 30s}
      processors:
      - mapping: root = this.batch
      - unarchive: {format: json_array}
output:
  file: {path: "{{folder}}/benthos.jsonl", codec: lines}
`

// benthosBinary finds it; false where it is not installed.
func (s settings) benthosBinary() (binary string, ok bool) {
	binary, err := exec.LookPath(cmp.Or(s.benthos, benthos))
	return binary, err == nil
}

// startBenthos returns nil, nil where it is not installed.
func startBenthos(ctx context.Context, s settings) (*server.Server, error) {
	binary, ok := s.benthosBinary()
	if !ok {
		fmt.Println("benthos is missing and left out: build github.com/redpanda-data/benthos/v4/cmd/benthos (v4.51.0), then -benthos PATH or BENTHOS=PATH")
		return nil, nil // a peer that is not there is left out, which is no error
	}
	if err := table.PinnedModule(benthos, binary, "v4.51.0"); err != nil {
		return nil, err
	}
	addr, err := server.FreeAddr(ctx)
	if err != nil {
		return nil, err
	}
	config := filepath.Join(s.folder, "benthos.yaml")
	text := strings.NewReplacer("{{addr}}", addr, "{{folder}}", s.folder).Replace(benthosConfig)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, fmt.Errorf("write config of benthos: %w", err)
	}
	return server.StartAt(ctx, addr, filepath.Join(s.folder, "benthos.log"), nil, nil, binary, "run", config)
}
