package ingest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"whittle/internal/needs"
	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/kinesis/kinesistest"

	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"
)

// shardRecord is a record, and which shard it is in.
type shardRecord struct {
	types.Record
	shard string
}

// shardRecords are all records of a stream, as Kinesis hands them to any reader.
func shardRecords(t *testing.T, api *kinesistest.API, name string) (all []shardRecord) {
	t.Helper()
	client, end := api.Client()
	defer end()
	shards, err := client.ListShards(t.Context(), &kinesis.ListShardsInput{StreamName: &name})
	if err != nil {
		t.Fatal(err)
	}
	for _, shard := range shards.Shards {
		at, err := client.GetShardIterator(t.Context(), &kinesis.GetShardIteratorInput{
			StreamName: &name, ShardId: shard.ShardId, ShardIteratorType: types.ShardIteratorTypeTrimHorizon,
		})
		if err != nil {
			t.Fatal(err)
		}
		out, err := client.GetRecords(t.Context(), &kinesis.GetRecordsInput{ShardIterator: at.ShardIterator})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range out.Records {
			all = append(all, shardRecord{r, *shard.ShardId})
		}
	}
	return all
}

// lambdaEvent is what Lambda calls a handler with, by its documentation, made of what
// the API says of each record.
func lambdaEvent(t *testing.T, stream string, records []shardRecord) []byte {
	t.Helper()
	type m = map[string]any
	var all []m
	for _, r := range records {
		all = append(all, m{
			"eventSource": "aws:kinesis", "eventVersion": "1.0", "eventName": "aws:kinesis:record",
			"eventID": r.shard + ":" + *r.SequenceNumber, "awsRegion": kinesistest.Region,
			"eventSourceARN":    "arn:aws:kinesis:" + kinesistest.Region + ":000000000000:stream/" + stream,
			"invokeIdentityArn": "arn:aws:iam::000000000000:role/lambda-role",
			"kinesis": m{
				"kinesisSchemaVersion": "1.0", "partitionKey": *r.PartitionKey, "sequenceNumber": *r.SequenceNumber,
				"data": base64.StdEncoding.EncodeToString(r.Data), "approximateArrivalTimestamp": float64(r.ApproximateArrivalTimestamp.UnixMilli()) / 1000,
			},
		})
	}
	text, err := json.Marshal(m{"Records": all})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// firehoseEvent is what Firehose calls a function with that transforms a stream's
// records, by its documentation.
func firehoseEvent(t *testing.T, stream string, records []shardRecord) []byte {
	t.Helper()
	type m = map[string]any
	var all []m
	for i, r := range records {
		all = append(all, m{
			"recordId": fmt.Sprint(i), "data": base64.StdEncoding.EncodeToString(r.Data), "approximateArrivalTimestamp": r.ApproximateArrivalTimestamp.UnixMilli(),
			"kinesisRecordMetadata": m{
				"shardId": r.shard, "partitionKey": *r.PartitionKey, "sequenceNumber": *r.SequenceNumber, "subsequenceNumber": 0,
				"approximateArrivalTimestamp": r.ApproximateArrivalTimestamp.UnixMilli(),
			},
		})
	}
	text, err := json.Marshal(m{
		"invocationId": "1", "region": kinesistest.Region, "deliveryStreamArn": "arn:aws:firehose:" + kinesistest.Region + ":000000000000:deliverystream/" + stream,
		"sourceKinesisStreamArn": "arn:aws:kinesis:" + kinesistest.Region + ":000000000000:stream/" + stream, "records": all,
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestOtherReadersOfKinesis has events read by what others read streams with: Lambda
// handlers and functions that transform records for Firehose, in Node.js and Python with
// AWS's libraries for KPL records, the KCL's own code between a shard and a consumer, and
// what Firehose makes of records, one behind the other. Each finds every event once, byte
// for byte.
func TestOtherReadersOfKinesis(t *testing.T) {
	const n = 40
	api := &kinesistest.API{URL: kinesisAPI(t, "alone").URL}
	if err := api.CreateStream(t.Context(), "together", 2); err != nil {
		t.Fatal(err)
	}
	for name, flags := range map[string][]string{"alone": nil, "together": {"--kinesis-aggregate", "50KiB"}} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, t.TempDir(), append([]string{"--sink", "kinesis", "--kinesis-stream", name}, flags...)...)
			var events []string
			for i := range n {
				events = append(events, fmt.Sprintf(`{"type":"track","event":"größer \u2713","userId":"u%d","messageId":"m%d","n":1e400,"a":{"x": [ 1.0 ]}}`, i%5, i))
			}
			var a struct{ Accepted int }
			if code, err := postBatch(t.Context(), http.DefaultClient, s.public, `{"batch":[`+strings.Join(events, ",")+`]}`, &a); err != nil || code != http.StatusOK || a.Accepted != n {
				t.Fatalf("%d %+v %v", code, a, err)
			}
			s.kill()
			records := shardRecords(t, api, name)
			if (len(records) == n) != (name == "alone") {
				t.Errorf("%d records", len(records))
			}
			t.Run("Lambda", func(t *testing.T) {
				node, modules := needs.Node(t), nodeClients(t)
				cmd := exec.CommandContext(t.Context(), node, "clients/lambda.js", filepath.Join(modules, "node_modules"))
				cmd.Stdin = bytes.NewReader(lambdaEvent(t, name, records))
				holdEvents(t, cmd, events)
			})
			t.Run("KCL", func(t *testing.T) {
				java, jars := kclJars(t)
				var lines bytes.Buffer
				for _, r := range records {
					fmt.Fprintln(&lines, *r.PartitionKey, *r.SequenceNumber, base64.StdEncoding.EncodeToString(r.Data))
				}
				cmd := exec.CommandContext(t.Context(), java, append([]string{"-Dfile.encoding=UTF-8", "-Dstdout.encoding=UTF-8"}, javaArgs(jars, "Deaggregate")...)...)
				cmd.Stdin = &lines
				holdEvents(t, cmd, events)
			})
			t.Run("Lambda in Python", func(t *testing.T) {
				cmd := exec.CommandContext(t.Context(), pythonReader(t), "clients/lambda.py")
				cmd.Stdin = bytes.NewReader(lambdaEvent(t, name, records))
				holdEvents(t, cmd, events)
			})
			t.Run("Firehose's transformation", func(t *testing.T) {
				node, modules := needs.Node(t), nodeClients(t)
				cmd := exec.CommandContext(t.Context(), node, "clients/firehose.js", filepath.Join(modules, "node_modules"))
				cmd.Stdin = bytes.NewReader(firehoseEvent(t, name, records))
				holdFile(t, cmd, events)
			})
			t.Run("Firehose's transformation in Python", func(t *testing.T) {
				cmd := exec.CommandContext(t.Context(), pythonReader(t), "clients/firehose.py")
				cmd.Stdin = bytes.NewReader(firehoseEvent(t, name, records))
				holdFile(t, cmd, events)
			})
			if name == "alone" {
				// Firehose takes records of the KPL apart before.
				var file strings.Builder
				for _, r := range records {
					file.Write(r.Data)
				}
				holdLines(t, strings.Split(strings.TrimSuffix(file.String(), "\n"), "\n"), events)
			}
		})
	}
}

// TestWhatOthersSeeOfBytes: with --kinesis-raw a reader gets the bodies, without a line
// end; with --kinesis-compact it gets bytes that are no JSON and that ingest alone reads.
func TestWhatOthersSeeOfBytes(t *testing.T) {
	api := &kinesistest.API{URL: kinesisAPI(t, "raw").URL}
	if err := api.CreateStream(t.Context(), "compact", 2); err != nil {
		t.Fatal(err)
	}
	for name, read := range map[string]func(data []byte) ([]byte, error){
		"raw": func(data []byte) ([]byte, error) { return data, nil },
		"compact": func(data []byte) ([]byte, error) {
			if json.Valid(data) {
				return nil, fmt.Errorf("%q is JSON", data)
			}
			r, err := stream.ParseRecord(data)
			return r.Value, err
		},
	} {
		s := serve(t, t.TempDir(), "--sink", "kinesis", "--kinesis-stream", name, "--kinesis-"+name)
		var a struct{ Accepted int }
		code, err := postBatch(t.Context(), http.DefaultClient, s.public,
			`{"batch":[{"type":"track","userId":"u1","messageId":"a","event":"größer"},{"type":"track","userId":"u2","messageId":"b","event":"größer"}]}`, &a)
		if err != nil || code != http.StatusOK || a.Accepted != 2 {
			t.Fatalf("%s: %d %+v %v", name, code, a, err)
		}
		s.kill()
		users := map[string]bool{}
		for _, r := range shardRecords(t, api, name) {
			value, err := read(r.Data)
			var event struct{ UserID, Event string }
			if err == nil {
				err = json.Unmarshal(value, &event)
			}
			if err != nil || event.UserID != *r.PartitionKey || event.Event != "größer" || !bytes.HasSuffix(value, []byte("}")) {
				t.Errorf("%s: %q of %s: %v", name, r.Data, *r.PartitionKey, err)
			}
			users[event.UserID] = true
		}
		if len(users) != 2 {
			t.Errorf("%s: events of %v", name, users)
		}
	}
}

// pythonReader is a Python that has AWS's library for KPL records.
func pythonReader(t *testing.T) string {
	t.Helper()
	python := needs.Tool(t, "readers of Kinesis in Python", "apt-get install python3-venv", "python3")
	return filepath.Join(pythonClients(t, python), "env", "bin", "python")
}

// holdFile runs a function that transforms records for Firehose, and holds what it then
// puts into a file.
func holdFile(t *testing.T, reader *exec.Cmd, events []string) {
	t.Helper()
	var complaints bytes.Buffer
	reader.Stderr = &complaints
	out, err := reader.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, &complaints)
	}
	holdLines(t, strings.Split(strings.TrimSuffix(string(out), "\n"), "\n"), events)
}

func kclJars(t *testing.T) (java, dir string) {
	t.Helper()
	java = needs.Tool(t, "the KCL", "apt-get install default-jdk-headless maven", "java")
	needs.Tool(t, "the KCL", "apt-get install maven", "mvn")
	return java, installedJars(t, "the KCL", "kcl.xml", "Deaggregate.java")
}

// holdEvents runs a reader that prints a partition key and a line of JSON for each
// event.
func holdEvents(t *testing.T, reader *exec.Cmd, events []string) {
	t.Helper()
	var complaints bytes.Buffer
	reader.Stderr = &complaints
	out, err := reader.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, &complaints)
	}
	var lines []string
	for line := range strings.Lines(string(out)) {
		key, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		if !strings.Contains(text, fmt.Sprintf(`"key":%q`, key)) {
			t.Errorf("the partition key of %s is %q", text, key)
		}
		lines = append(lines, text)
	}
	holdLines(t, lines, events)
}

// holdLines holds lines of JSON against the events that were sent: each is there
// once, and what its client sent of it is as it was.
func holdLines(t *testing.T, lines, events []string) {
	t.Helper()
	left := map[string]string{}
	for i, e := range events {
		left[fmt.Sprint("m", i)] = strings.TrimSuffix(e, "}")
	}
	for _, line := range lines {
		var envelope struct {
			V     int
			ID    string
			Event json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &envelope); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		sent, ok := left[envelope.ID]
		if !ok || envelope.V != 1 || !strings.HasPrefix(string(envelope.Event), sent) {
			t.Errorf("%s: there twice, or changed", line)
		}
		delete(left, envelope.ID)
	}
	if len(left) > 0 {
		t.Errorf("%d events are missing: %v", len(left), left)
	}
}
