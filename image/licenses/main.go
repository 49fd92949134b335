// Command licenses writes the page of the licences of what audit's binary is made
// of: every module with a package in it, the Go library, and audit itself. Whoever
// passes the binary on has to pass these texts on too, so the image holds the page.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	root := flag.String("root", "..", "the folder of audit's module")
	out := flag.String("out", "../THIRD_PARTY_LICENSES.md", "the file to write")
	flag.Parse()
	if err := run(*root, *out); err != nil {
		fmt.Fprintf(os.Stderr, "licenses: %v\n", err)
		os.Exit(1)
	}
}

func run(root, out string) error {
	text, err := page(root)
	if err != nil {
		return err
	}
	return os.WriteFile(out, text, 0o644)
}

// page returns the page of the module in a folder.
func page(root string) ([]byte, error) {
	parts, err := builtOf(root)
	if err != nil {
		return nil, err
	}
	for i := range parts {
		if err := parts[i].read(); err != nil {
			return nil, fmt.Errorf("read the licence of %s: %w", parts[i].name, err)
		}
	}
	return format(parts), nil
}
