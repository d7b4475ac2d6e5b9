package kafkatest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"whittle"
	"whittle/internal/checkout"
)

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
      <version>` + Version + `</version>
    </dependency>
  </dependencies>
</project>
`

// cacheDir is .cache/kafka in the checkout, or the user's cache folder outside of one.
func cacheDir() string {
	if root := checkout.Root(); root != "" {
		return filepath.Join(root, ".cache", "kafka")
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	return filepath.Join(dir, "whittle", "kafka")
}

// fetch returns the folder with the jars, and downloads them first where they are not
// there: into a folder of its own that is renamed, so that all of them are there or
// none. Several processes may call it at once: one downloads, the others wait.
func fetch(ctx context.Context) (_ string, err error) {
	cache := cacheDir()
	jars := filepath.Join(cache, Version)
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", fmt.Errorf("make Kafka's cache folder: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(cache, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", fmt.Errorf("lock Kafka's cache folder: %w", err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("lock Kafka's cache folder: %w", err)
	}
	if _, err := os.Stat(jars); err == nil {
		return jars, nil
	}
	work, err := os.MkdirTemp(cache, "making-")
	if err != nil {
		return "", fmt.Errorf("make Kafka's cache folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	kept := filepath.Join(work, "kept")
	if err := download(ctx, work, kept); err != nil {
		return "", err
	}
	return jars, os.Rename(kept, jars)
}

// download has Maven gather the jars.
func download(ctx context.Context, work, jars string) error {
	if err := os.WriteFile(filepath.Join(work, "pom.xml"), []byte(pom), 0o600); err != nil {
		return fmt.Errorf("write Maven's file: %w", err)
	}
	cmd := exec.CommandContext(ctx, "mvn", "--quiet", "--batch-mode", "--strict-checksums", copyPlugin, "-DoutputDirectory="+jars)
	cmd.Dir = work
	if out, err := cmd.CombinedOutput(); err != nil {
		return whittle.Errorf(whittle.Unavailable, "fetch Kafka %s by Maven: %w\n%s", Version, err, out).
			WithHint("Maven must reach its central repository, or a mirror named in ~/.m2/settings.xml")
	}
	return nil
}
