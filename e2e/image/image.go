package main

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// spec describes an image. Equal specs give byte-identical images.
type spec struct {
	platform string // such as linux/amd64
	binary   string // path
	licenses string // path of the file with the third-party licenses
	version  string
	created  time.Time
}

// made is an image and its platform.
type made struct {
	v1.Image
	platform *v1.Platform
}

// Metadata of the image, the same as in the Dockerfile.
const (
	user         = "65532:65532" // not a user of the node
	title        = "audit"
	licensesName = "THIRD_PARTY_LICENSES.md"
	source       = "https://github.com/eventuallytrue/audit"
)

// assemble builds the image: one layer with the binary and the third-party
// licenses.
func assemble(s spec) (made, error) {
	platform, err := v1.ParsePlatform(s.platform)
	if err != nil {
		return made{}, err
	}
	binary, err := os.ReadFile(s.binary)
	if err != nil {
		return made{}, err
	}
	if err := check(binary, platform); err != nil {
		return made{}, fmt.Errorf("%s: %w", s.binary, err)
	}
	licenses, err := os.ReadFile(s.licenses)
	if err != nil {
		return made{}, err
	}
	packed, err := pack(s.created, []file{{licensesName, 0o644, licenses}, {"audit", 0o755, binary}})
	if err != nil {
		return made{}, fmt.Errorf("pack %s: %w", s.binary, err)
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(packed)), nil
	}, tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
	if err != nil {
		return made{}, err
	}
	img, err := mutate.ConfigFile(
		mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON),
		&v1.ConfigFile{
			OS: platform.OS, Architecture: platform.Architecture, Variant: platform.Variant,
			Created: v1.Time{Time: s.created},
			RootFS:  v1.RootFS{Type: "layers"},
			Config:  v1.Config{User: user, Entrypoint: []string{"/audit"}, Labels: labels(s.version)},
		})
	if err != nil {
		return made{}, err
	}
	img, err = mutate.Append(img, mutate.Addendum{
		Layer: layer, History: v1.History{Created: v1.Time{Time: s.created}, CreatedBy: "COPY /" + licensesName + " /audit"},
	})
	return made{img, platform}, err
}

func labels(version string) map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":   title,
		"org.opencontainers.image.source":  source,
		"org.opencontainers.image.version": version,
	}
}

// machines are the supported architectures.
var machines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

// check rejects a binary that would not start: one for another architecture, or
// one that is dynamically linked, since the image has no loader or libraries.
func check(binary []byte, p *v1.Platform) error {
	f, err := elf.NewFile(bytes.NewReader(binary))
	if err != nil {
		return err
	}
	if want, ok := machines[p.Architecture]; p.OS != "linux" || !ok || f.Machine != want {
		return fmt.Errorf("the binary is for %s, not for %s", f.Machine, p)
	}
	for _, prog := range f.Progs {
		if prog.Type == elf.PT_INTERP {
			return errors.New("the binary is not static: build it with CGO_ENABLED=0")
		}
	}
	return nil
}

// file is a file in the image.
type file struct {
	name    string
	mode    int64
	content []byte
}

// pack builds the layer's archive. Only the content of the files on disk goes into
// it, not their times, owners or modes.
func pack(modified time.Time, files []file) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		err := w.WriteHeader(&tar.Header{
			Typeflag: tar.TypeReg, Name: f.name, Mode: f.mode, Size: int64(len(f.content)), ModTime: modified, Format: tar.FormatUSTAR,
		})
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), w.Close()
}

// limit is the maximum compressed size of an image, in bytes.
const limit = 40_000_000

// refName is the annotation that ctr and skopeo use to find an image in a layout.
const refName = "org.opencontainers.image.ref.name"

// write writes an archive for each image and one layout with all of them. It
// rejects an image that is too large.
func write(folder string, tag name.Tag, images []made, out io.Writer) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, img := range images {
		size, err := compressedSize(img)
		if err != nil {
			return err
		}
		if size > limit {
			return fmt.Errorf("the image for %s has %d bytes, more than %d", img.platform, size, limit)
		}
		path := filepath.Join(folder, fmt.Sprintf("audit-%s-%s.tar", img.platform.OS, img.platform.Architecture))
		if err := tarball.WriteToFile(path, tag, img); err != nil {
			return fmt.Errorf("write %s: %w", path, err)
		}
		digest, err := img.Digest()
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s %s %s %d bytes\n", img.platform, digest, path, size)
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: img.Image, Descriptor: v1.Descriptor{Platform: img.platform},
		})
	}
	return writeLayout(filepath.Join(folder, "oci"), tag, index, out)
}

// writeLayout writes the index and replaces an existing layout.
func writeLayout(path string, tag name.Tag, index v1.ImageIndex, out io.Writer) error {
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	l, err := layout.Write(path, empty.Index)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := l.AppendIndex(index, layout.WithAnnotations(map[string]string{refName: tag.String()})); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "index %s %s\n", digest, path)
	return nil
}

// compressedSize returns the size of the config and the layers, compressed.
func compressedSize(img v1.Image) (int64, error) {
	manifest, err := img.Manifest()
	if err != nil {
		return 0, err
	}
	size := manifest.Config.Size
	for _, l := range manifest.Layers {
		size += l.Size
	}
	return size, nil
}
