package node

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// writeImage writes an archive, as docker saves them, of an image that holds one
// static program and runs it.
func writeImage(archive, name, binary string) error {
	program, err := os.ReadFile(binary)
	if err != nil {
		return fmt.Errorf("write image %s: %w", name, err)
	}
	path := filepath.Base(binary)
	layer, err := tarOf(member{path, 0o755, program})
	if err != nil {
		return fmt.Errorf("write image %s: %w", name, err)
	}
	type object = map[string]any
	config, err := json.Marshal(object{
		"architecture": runtime.GOARCH, "os": "linux",
		"config": object{"Entrypoint": []string{"/" + path}},
		"rootfs": object{"type": "layers", "diff_ids": []string{fmt.Sprintf("sha256:%x", sha256.Sum256(layer))}},
	})
	manifest, manifestErr := json.Marshal([]object{{"Config": "config.json", "RepoTags": []string{name}, "Layers": []string{"layer.tar"}}})
	if err := errors.Join(err, manifestErr); err != nil {
		return fmt.Errorf("write image %s: %w", name, err)
	}
	data, err := tarOf(member{"manifest.json", 0o644, manifest}, member{"config.json", 0o644, config}, member{"layer.tar", 0o644, layer})
	if err == nil {
		err = os.WriteFile(archive, data, 0o600)
	}
	if err != nil {
		return fmt.Errorf("write image %s: %w", name, err)
	}
	return nil
}

type member struct {
	name string
	mode int64
	data []byte
}

func tarOf(members ...member) ([]byte, error) {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, m := range members {
		if err := w.WriteHeader(&tar.Header{Name: m.name, Mode: m.mode, Size: int64(len(m.data))}); err != nil {
			return nil, err
		}
		if _, err := w.Write(m.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}
