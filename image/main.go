// Command image puts the binaries of audit into container images, without a
// builder of images: what it writes is what the Dockerfile makes of the same
// binary. For each platform there is an archive as docker save makes it, which
// docker, podman, ctr and kind load, and for all of them together one OCI layout,
// which skopeo and crane copy to a registry.
//
// It is a module of its own, so that the library which it is made of is none of
// audit's dependencies.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "image: %v\n", err)
		os.Exit(1)
	}
}

// run writes the images that the arguments ask for, and a line for each to out.
func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("image [flags] PLATFORM=BINARY...", flag.ContinueOnError)
	tag := flags.String("tag", "", "the image's name and tag, such as ghcr.io/eventuallytrue/audit:v1.0.0")
	created := flags.Int64("created", 0, "when the image is said to be made, in seconds since 1970")
	licenses := flags.String("licenses", "../"+licensesName, "the page of the licences of what the binaries are made of")
	folder := flags.String("out", ".", "the folder to write to, which must exist")
	if err := flags.Parse(args); err != nil {
		return err
	}
	ref, err := name.NewTag(*tag, name.StrictValidation)
	if err != nil {
		return fmt.Errorf("read -tag: %w", err)
	}
	if flags.NArg() == 0 {
		return errors.New("no PLATFORM=BINARY is given")
	}
	var images []made
	for _, arg := range flags.Args() {
		platform, binary, ok := strings.Cut(arg, "=")
		if !ok {
			return fmt.Errorf("%q is not PLATFORM=BINARY", arg)
		}
		img, err := assemble(spec{
			platform: platform, binary: binary, licenses: *licenses,
			version: ref.TagStr(), created: time.Unix(*created, 0).UTC(),
		})
		if err != nil {
			return fmt.Errorf("assemble the image for %s: %w", platform, err)
		}
		images = append(images, img)
	}
	return write(*folder, ref, images, out)
}
