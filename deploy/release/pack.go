package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // registers the format
	"github.com/goreleaser/nfpm/v2/files"
)

// archive is a .tar.gz of one folder: every time is the commit's, every owner root.
func (r *release) archive(folder string, list []file) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(z)
	for _, f := range list {
		h := &tar.Header{Name: path.Join(folder, f.path), Mode: f.mode, Size: int64(len(f.content)), ModTime: r.at, Typeflag: tar.TypeReg, Format: tar.FormatUSTAR, Uname: "root", Gname: "root"}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// parts says what a binary is made of, as the linker wrote it down: the Go release and
// each module with its version and sum.
func (r *release) parts(binary string, sum [sha256.Size]byte) ([]byte, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	component := func(name, version string) cdx.Component {
		url := "pkg:golang/" + name + "@" + version
		return cdx.Component{BOMRef: url, Type: cdx.ComponentTypeLibrary, Name: name, Version: version, PackageURL: url}
	}
	list := []cdx.Component{component("std", strings.TrimPrefix(info.GoVersion, "go"))}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		c := component(m.Path, m.Version)
		// A sum of Go's (h1:) is not a digest of one file, and has a place of its own.
		c.Properties = &[]cdx.Property{{Name: "golang:sum", Value: m.Sum}}
		list = append(list, c)
	}
	whittle := component("whittle", r.version)
	whittle.Type = cdx.ComponentTypeApplication
	whittle.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum[:])}}
	bom := cdx.NewBOM()
	bom.SerialNumber = serial(sum)
	bom.Metadata = &cdx.Metadata{Timestamp: r.at.Format("2006-01-02T15:04:05Z"), Component: &whittle}
	bom.Components = &list
	needs := make([]string, len(list))
	for i := range list {
		needs[i] = list[i].BOMRef
	}
	bom.Dependencies = &[]cdx.Dependency{{Ref: whittle.BOMRef, Dependencies: &needs}}
	var b bytes.Buffer
	e := cdx.NewBOMEncoder(&b, cdx.BOMFileFormatJSON)
	e.SetPretty(true)
	if err := e.Encode(bom); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// serial is a UUID (version 8) that follows from what the binary is.
func serial(sum [sha256.Size]byte) string {
	u := sum
	u[6] = u[6]&0x0f | 0x80
	u[8] = u[8]&0x3f | 0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", u[0:4], u[4:6], u[6:8], u[8:10], u[10:16])
}

// places says where a package puts what an archive has.
var places = map[string]string{
	"whittle.schema.json":     "/usr/share/whittle/whittle.schema.json",
	"routes.schema.json":      "/usr/share/whittle/routes.schema.json",
	"LICENSE":                 "/usr/share/doc/whittle/copyright",
	"CHANGELOG.md":            "/usr/share/doc/whittle/CHANGELOG.md",
	"systemd/whittle.service": "/usr/lib/systemd/system/whittle.service",
	"etc/whittle.yaml":        "/etc/whittle/whittle.yaml",
}

// deb writes a package for Debian and those after it. The service is not started: it would
// take a port before anybody has said what is behind it.
func (r *release) deb(t target, binary []byte, extra []file) error {
	dir := filepath.Join(r.work, "deb-"+t.arch)
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: "whittle", Arch: t.arch, Platform: "linux", Version: r.version, VersionSchema: "semver",
		Section: "net", Priority: "optional", Maintainer: "whittle maintainers <maintainers@whittle.invalid>",
		Description: "gateway that carves a hot endpoint out of a monolith\n It mirrors live traffic to a candidate, compares the responses at a stated\n" +
			" error rate, and shifts users step by step on the evidence.",
		License: "Apache-2.0", MTime: r.at,
	})
	add := func(to, kind string, content []byte, mode os.FileMode) error {
		from := filepath.Join(dir, filepath.FromSlash(to))
		if err := errors.Join(os.MkdirAll(filepath.Dir(from), 0o755), os.WriteFile(from, content, 0o644)); err != nil {
			return err
		}
		info.Contents = append(info.Contents, &files.Content{Source: from, Destination: to, Type: kind, FileInfo: &files.ContentFileInfo{Mode: mode, MTime: r.at, Owner: "root", Group: "root"}})
		return nil
	}
	if err := add("/usr/bin/whittle", files.TypeFile, binary, 0o755); err != nil {
		return err
	}
	for _, f := range extra {
		to, ok := places[f.path]
		if !ok {
			continue
		}
		kind := files.TypeFile
		if strings.HasPrefix(to, "/etc/") {
			kind = files.TypeConfigNoReplace
		}
		if err := add(to, kind, f.content, 0o644); err != nil {
			return err
		}
	}
	info.Contents = append(info.Contents, &files.Content{
		Destination: "/etc/whittle/routes.d", Type: files.TypeDir,
		FileInfo: &files.ContentFileInfo{Mode: 0o755, MTime: r.at, Owner: "root", Group: "root"},
	})
	if err := nfpm.PrepareForPackager(info, "deb"); err != nil {
		return err
	}
	packager, err := nfpm.Get("deb")
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := packager.Package(info, &b); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, packager.ConventionalFileName(info)), b.Bytes(), 0o644)
}
