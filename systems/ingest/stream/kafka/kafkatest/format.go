package kafkatest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"

	"whittle"
)

// format has Kafka's own tool make a data folder, once for all brokers of this cache
// and this Java: a JVM less for each. The classes that were loaded for it stay in an
// archive, by which a broker starts at three quarters of the CPU. It returns the folder
// with both.
func format(ctx context.Context, cache, jars string) (string, error) {
	java, err := exec.LookPath("java")
	if err != nil {
		return "", fmt.Errorf("find Java: %w", err)
	}
	if java, err = filepath.EvalSymlinks(java); err != nil {
		return "", fmt.Errorf("find Java: %w", err)
	}
	info, err := os.Stat(java)
	if err != nil {
		return "", fmt.Errorf("find Java: %w", err)
	}
	which := sha256.Sum256(fmt.Append(nil, java, info.Size(), info.ModTime()))
	return keep(cache, fmt.Sprintf("%s-formatted-%x", Version, which[:4]), func(_, kept string) error {
		b := &Broker{dir: kept, jars: jars, heap: "512m", client: "127.0.0.1:1", control: "127.0.0.1:2", archive: "-XX:ArchiveClassesAtExit=" + archiveIn(kept)}
		if err := os.Mkdir(kept, 0o755); err != nil {
			return fmt.Errorf("make a folder to format: %w", err)
		}
		if err := b.configure(); err != nil {
			return err
		}
		cmd := exec.CommandContext(ctx, java,
			b.java("kafka.tools.StorageTool", "format", "--cluster-id="+randomID(), "-c", b.config())...)
		cmd.Dir = kept
		if out, err := cmd.CombinedOutput(); err != nil {
			return whittle.Errorf(whittle.Internal, "format the broker's storage: %w\n%s", err, out)
		}
		return nil
	})
}

func archiveIn(formatted string) string { return filepath.Join(formatted, "classes.jsa") }

// ids are those of a cluster and of its folder, which each broker has of its own.
var ids = regexp.MustCompile(`(?m)^(cluster\.id|directory\.id)=.*$`)

// copyData makes the data folder out of the one that was formatted. What is there
// already stays.
func (b *Broker) copyData() error {
	if _, err := os.Stat(filepath.Join(b.data(), "meta.properties")); err == nil {
		return nil
	}
	if err := os.MkdirAll(b.data(), 0o755); err != nil {
		return fmt.Errorf("make the broker's storage: %w", err)
	}
	of := &Broker{dir: b.formatted}
	files, err := os.ReadDir(of.data())
	if err != nil {
		return fmt.Errorf("copy the broker's storage: %w", err)
	}
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(of.data(), f.Name()))
		if err != nil {
			return fmt.Errorf("copy the broker's storage: %w", err)
		}
		if f.Name() == "meta.properties" {
			text = ids.ReplaceAllFunc(text, func(line []byte) []byte {
				return fmt.Appendf(nil, "%s=%s", ids.FindSubmatch(line)[1], randomID())
			})
		}
		if err := os.WriteFile(filepath.Join(b.data(), f.Name()), text, 0o600); err != nil {
			return fmt.Errorf("copy the broker's storage: %w", err)
		}
	}
	return nil
}

// randomID is a random UUID (version 4), as Kafka writes its ids: none begins with a
// dash.
func randomID() string {
	id := make([]byte, 16)
	rand.Read(id) // never fails
	id[0] &= 0x7f
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	return base64.RawURLEncoding.EncodeToString(id)
}
