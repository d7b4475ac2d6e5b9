package scaffold

import (
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"whittle/internal/needs"
)

// badPorts are those that the fetch standard blocks (https://fetch.spec.whatwg.org/#bad-port).
var badPorts = []int{
	0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110, 111, 113, 115,
	117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601,
	636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697,
	10080,
}

// madePorts are those that a made project's files name.
var madePorts = regexp.MustCompile(`(?:127\.0\.0\.1|localhost|_LISTEN=|_ADMIN=|EXPOSE):? ?:?([0-9]{2,5})\b`)

// TestNoMadePortIsBlocked: a browser and Node's fetch, which the made Node client
// is built on, reach every port that a made project names. Port 1 stands for
// nobody in its tests.
func TestNoMadePortIsBlocked(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "shop")
	makeShop(t, dir, shopContract())
	named := map[int][]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.Contains(path, "/test") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		for _, m := range madePorts.FindAllStringSubmatch(read(t, "", path), -1) {
			port, err := strconv.Atoi(m[1])
			if err != nil {
				return err
			}
			named[port] = append(named[port], filepath.Base(path))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for port, files := range named {
		if slices.Contains(badPorts, port) {
			t.Errorf("port %d of %v is one that browsers block", port, files)
		}
	}
	for _, port := range []int{servicePort, adminPort} {
		if len(named[port]) == 0 {
			t.Errorf("no file names port %d: %v", port, named)
		}
	}
	node := needs.Node(t)
	script := fmt.Sprintf("for (const p of [%d, %d]) fetch(`http://127.0.0.99:${p}/`).catch((e) => { if (/bad port/.test(e.cause?.message)) { console.error(p); process.exit(3); } });", servicePort, adminPort)
	if out, err := exec.CommandContext(t.Context(), node, "-e", script).CombinedOutput(); err != nil {
		t.Errorf("Node's fetch blocks a port: %v %s", err, out)
	}
}
