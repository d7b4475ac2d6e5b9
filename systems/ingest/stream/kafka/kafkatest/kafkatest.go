// Package kafkatest runs a real Apache Kafka broker on loopback, for tests and
// audits. It needs Java 17 and Maven; the broker's jars come from Maven's central
// repository once and are kept in .cache/kafka of the checkout.
package kafkatest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"whittle/internal/checkout"
	"whittle/internal/child"
	"whittle/internal/fatal"
	"whittle/internal/needs"
)

// version is the release of Apache Kafka that is started.
const version = "4.1.1"

// copyPlugin is the Maven plugin that gathers the jars, pinned.
const copyPlugin = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"

const pom = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>whittle</groupId>
  <artifactId>kafka-jars</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId>
      <artifactId>kafka_2.13</artifactId>
      <version>` + version + `</version>
    </dependency>
  </dependencies>
</project>
`

// Broker is one broker, which is its own controller (KRaft). Its methods are
// called by one goroutine at a time.
type Broker struct {
	// Address is the broker's host and port. It stays the same over restarts.
	Address string

	dir     string // deleted at the end
	jars    string
	process *child.Process
}

// shared is the one broker of a test program.
var shared *Broker

// Start gives the test program's one broker, or says loudly that nothing was tested. Each
// test has topics of its own; one that kills the broker starts it again.
func Start(t testing.TB) *Broker {
	t.Helper()
	for _, tool := range []string{"java", "mvn"} {
		needs.Tool(t, "a real Apache Kafka", "apt-get install openjdk-17-jre-headless maven", tool)
	}
	t.Cleanup(func() {
		if t.Failed() { // who knows in what state
			Close()
		}
	})
	if shared == nil {
		b := &Broker{jars: fetch(t)}
		var err error
		b.dir, err = os.MkdirTemp("", "kafka-")
		fatal.If(t, err)
		b.configure(t)
		shared = b
		b.Restart(t)
	}
	return shared
}

// Close ends the broker, where there is one, and deletes its folder.
func Close() {
	if shared != nil {
		shared.Kill()
		_ = os.RemoveAll(shared.dir) // what it holds is a test's
		shared = nil
	}
}

// fetch gives the folder with the jars, and downloads them first where they are not
// there: into a folder of its own that is renamed, so that all of them are there or
// none. Several processes may call it at once: one downloads, the others wait.
func fetch(t testing.TB) string {
	t.Helper()
	cache := filepath.Join(checkout.Root(), ".cache", "kafka")
	jars := filepath.Join(cache, version)
	fatal.If(t, os.MkdirAll(cache, 0o755))
	lock, err := os.OpenFile(filepath.Join(cache, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	fatal.If(t, err)
	defer lock.Close()
	fatal.If(t, syscall.Flock(int(lock.Fd()), syscall.LOCK_EX))
	if _, err := os.Stat(jars); err == nil {
		return jars
	}
	work, err := os.MkdirTemp(cache, "making-")
	fatal.If(t, err)
	defer func() { _ = os.RemoveAll(work) }()
	kept := filepath.Join(work, "kept")
	fatal.If(t, os.WriteFile(filepath.Join(work, "pom.xml"), []byte(pom), 0o600))
	cmd := exec.CommandContext(t.Context(), "mvn", "--quiet", "--batch-mode", "--strict-checksums", copyPlugin, "-DoutputDirectory="+kept)
	cmd.Dir = work
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("fetch Kafka %s by Maven, which must reach its central repository, or a mirror named in ~/.m2/settings.xml: %v\n%s", version, err, out)
	}
	fatal.If(t, os.Rename(kept, jars))
	return jars
}

// Restart starts the broker again on the same addresses and data after Kill, and
// returns when it responds.
func (b *Broker) Restart(t testing.TB) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(b.Address))
	fatal.If(t, err)
	defer client.Close()
	// A JVM that starts fast and stays small.
	p, err := child.Spawn(child.Options{Dir: b.dir, Log: filepath.Join(b.dir, "output.log")},
		"java", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto",
		"-Dlog4j2.configurationFile="+filepath.Join(b.dir, "log4j2.properties"),
		"-cp", filepath.Join(b.jars, "*"), "kafka.Kafka", filepath.Join(b.dir, "server.properties"))
	fatal.If(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	fatal.If(t, p.Await(ctx, client.Ping))
	b.process = p
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

// Records are all of a topic, as any consumer reads them.
func Records(t testing.TB, topic string, brokers ...string) (all []*kgo.Record) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	fatal.If(t, err)
	defer client.Close()
	ends, err := kadm.NewClient(client).ListEndOffsets(ctx, topic)
	fatal.If(t, err)
	left := int64(0)
	ends.Each(func(o kadm.ListedOffset) { left += o.Offset })
	for int64(len(all)) < left {
		got := client.PollFetches(ctx)
		if err := got.Err0(); err != nil {
			t.Fatalf("%d of %d records of %s: %v", len(all), left, topic, err)
		}
		all = append(all, got.Records()...)
	}
	return all
}

// configure makes an empty data folder, and writes the broker's settings: one node for both
// roles, every replication factor 1, no topics by accident, and small thread pools, for it
// shares a machine with what it is tested by.
//
// The broker stamps by its own clock, from which that of the code under test may be years
// apart (make clock-test): it forgets producers whose last stamp is a day old. A killed broker
// is let in again only when its session has run out, and one on a busy machine must not lose it.
func (b *Broker) configure(t testing.TB) {
	t.Helper()
	addresses, err := child.Addresses(2)
	fatal.If(t, err)
	b.Address = addresses[0]
	fatal.If(t, os.Mkdir(filepath.Join(b.dir, "data"), 0o755))
	for name, text := range map[string]string{"server.properties": settings, "log4j2.properties": logging, "data/meta.properties": meta} {
		text = strings.NewReplacer("$CLIENT", b.Address, "$CONTROL", addresses[1], "$DATA", filepath.Join(b.dir, "data")).Replace(text)
		fatal.If(t, os.WriteFile(filepath.Join(b.dir, name), []byte(text), 0o600))
	}
}

const settings = `process.roles=broker,controller
node.id=1
controller.quorum.voters=1@$CONTROL
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://$CLIENT,CONTROLLER://$CONTROL
advertised.listeners=PLAINTEXT://$CLIENT
log.dirs=$DATA
log.message.timestamp.type=LogAppendTime
broker.session.timeout.ms=2000
broker.heartbeat.interval.ms=200
auto.create.topics.enable=false
controlled.shutdown.enable=false
log.cleaner.enable=false
num.network.threads=2
num.io.threads=2
background.threads=2
num.recovery.threads.per.data.dir=1
group.coordinator.threads=1
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
`

// meta makes a folder one of Kafka's. Any two ids do, as no broker meets another.
const meta = `version=1
cluster.id=4L6g3nShT-eMCtK--X86sw
directory.id=FGrJ0R2rR0SpNoYhUzHcLw
node.id=1
`

// logging lets warnings through, to the standard output.
const logging = `status=error
appender.out.type=Console
appender.out.name=out
appender.out.layout.type=PatternLayout
appender.out.layout.pattern=%d %p %m (%c)%n
rootLogger.level=warn
rootLogger.appenderRef.out.ref=out
`
