package manifests_test

import (
	"encoding/binary"
	"testing"
	"unicode/utf16"
)

// inUTF16 returns a text as PowerShell writes what kubectl prints.
func inUTF16(text string, order binary.AppendByteOrder) string {
	var out []byte
	for _, unit := range utf16.Encode([]rune("\ufeff" + text)) {
		out = order.AppendUint16(out, unit)
	}
	return string(out)
}

func TestReadUTF16(t *testing.T) {
	text := namespace("a") + "---\n" + namespace("b") + "# \u0d0a \U0001f512\n"
	both := []string{"Namespace a", "Namespace b"}
	for _, c := range []streamCase{
		{name: "YAML with the low byte first", in: inUTF16(text, binary.LittleEndian), objects: both},
		{name: "YAML with the high byte first", in: inUTF16(text, binary.BigEndian), objects: both},
		{name: "several JSON values", in: inUTF16(namespaceJSON("a")+"\n"+namespaceJSON("b"), binary.LittleEndian), objects: both},
	} {
		t.Run(c.name, c.run)
	}
}
