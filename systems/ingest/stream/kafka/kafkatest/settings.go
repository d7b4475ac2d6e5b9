package kafkatest

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

func (b *Broker) config() string { return filepath.Join(b.dir, "server.properties") }

// configure makes an empty data folder, and writes server.properties: one node for both
// roles, every replication factor 1, no topics by accident, and small thread pools, for it
// shares a machine with what it is tested by.
func (b *Broker) configure() error {
	settings := map[string]string{
		"process.roles":                "broker,controller",
		"node.id":                      "1",
		"controller.quorum.voters":     "1@" + b.control,
		"controller.listener.names":    "CONTROLLER",
		"listeners":                    "PLAINTEXT://" + b.Address() + ",CONTROLLER://" + b.control,
		"advertised.listeners":         "PLAINTEXT://" + b.Address(),
		"log.dirs":                     b.data(),
		"auto.create.topics.enable":    "false",
		"offsets.topic.num.partitions": "1",
		"num.network.threads":          "2",
		"num.io.threads":               "2",
		"background.threads":           "2",
		"log.cleaner.enable":           "false",
		"group.coordinator.threads":    "1",
		"controlled.shutdown.enable":   "false",
		// A killed broker is let in again only when its session has run out, and
		// a broker on a busy machine must not lose its session.
		"broker.session.timeout.ms":         "2000",
		"broker.heartbeat.interval.ms":      "200",
		"num.recovery.threads.per.data.dir": "1",
	}
	// The broker stamps by its own clock, from which that of the code under test may be years
	// apart (make clock-test): it forgets producers whose last stamp is a day old.
	settings["log.message.timestamp.type"] = "LogAppendTime"
	for _, factor := range []string{
		"offsets.topic.replication.factor", "transaction.state.log.replication.factor",
		"transaction.state.log.min.isr", "share.coordinator.state.topic.replication.factor",
		"share.coordinator.state.topic.min.isr",
	} {
		settings[factor] = "1"
	}
	var text bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		fmt.Fprintf(&text, "%s=%s\n", name, settings[name])
	}
	if err := os.WriteFile(b.config(), text.Bytes(), 0o600); err != nil {
		return fmt.Errorf("write broker settings: %w", err)
	}
	if err := os.Mkdir(b.data(), 0o755); err != nil {
		return fmt.Errorf("make the broker's storage: %w", err)
	}
	return errors.Join(
		os.WriteFile(filepath.Join(b.data(), "meta.properties"), []byte(meta), 0o600),
		os.WriteFile(filepath.Join(b.dir, "log4j2.properties"), []byte(logging4j), 0o600))
}

// meta makes a folder one of Kafka's. Any two ids do, as no broker meets another.
const meta = `version=1
cluster.id=4L6g3nShT-eMCtK--X86sw
directory.id=FGrJ0R2rR0SpNoYhUzHcLw
node.id=1
`

// logging4j lets warnings through, to the standard output.
const logging4j = `status=error
appender.out.type=Console
appender.out.name=out
appender.out.layout.type=PatternLayout
appender.out.layout.pattern=%d %p %m (%c)%n
rootLogger.level=warn
rootLogger.appenderRef.out.ref=out
`

// data is the folder of what the broker keeps.
func (b *Broker) data() string { return filepath.Join(b.dir, "data") }

// java is the command of the broker: a JVM that starts fast and stays small.
func (b *Broker) java() []string {
	return []string{
		"java", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto",
		"-Dlog4j2.configurationFile=" + filepath.Join(b.dir, "log4j2.properties"),
		"-cp", filepath.Join(b.jars, "*"), "kafka.Kafka", b.config(),
	}
}
