package main

import (
	"bytes"
	"fmt"
	"strings"
)

const head = `# Licences

The binary of audit is made of these modules. The image holds this page. ` + "`make generate`" + ` writes it; a test fails
where it is out of date.

| module | version | licence |
|---|---|---|
`

// format returns the page: a table, then each text once with what it is of.
func format(parts []part) []byte {
	var b bytes.Buffer
	b.WriteString(head)
	of := map[string][]string{}
	var texts []string // as they are first come across
	for _, p := range parts {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", p.name, p.version, strings.Join(p.ids, " AND "))
		for _, text := range p.texts {
			if of[text] == nil {
				texts = append(texts, text)
			}
			of[text] = append(of[text], p.name)
		}
	}
	for _, text := range texts {
		b.WriteString("\n## " + strings.Join(of[text], ", ") + "\n\n")
		// Four blanks make a line code, whatever it holds.
		for line := range strings.Lines(text) {
			if line = strings.TrimRight(line, " \t\r\n"); line != "" {
				line = "    " + line
			}
			b.WriteString(line + "\n")
		}
	}
	return b.Bytes()
}
