package manifests

import "bytes"

// cutFlow looks for the items of a document in KYAML, as kubectl prints it. They
// begin and end where lines at one place have nothing but brackets:
//
//	{
//	  apiVersion: "v1",
//	  items: [{
//	    kind: "Namespace",
//	  }, {
//	    ...
//	  }],
//	  kind: "List",
//	}
func cutFlow(document []byte) (listText, bool) {
	begin, indent := 0, 0
	for line := range bytes.Lines(document) {
		if line[0] == '%' {
			return listText{}, false // may give tags another meaning, in each item
		}
		text := bytes.TrimLeft(line, " ")
		if string(bytes.TrimRight(text, "\r\n")) == "items: [{" {
			indent = len(line) - len(text)
			begin += indent + len("items: [")
			break
		}
		begin += len(line)
	}
	if begin >= len(document) {
		return listText{}, false
	}
	l := listText{head: document[:begin], indent: indent, flow: true}
	end := begin
	for line := range bytes.Lines(document[begin:]) {
		if between(line, indent, "}]") {
			end += indent + len("}")
			l.items, l.tail = document[begin:end], document[end:]
			return l, true
		}
		end += len(line)
	}
	return listText{}, false
}

// between tells a line that goes on with brackets behind so many blanks.
func between(line []byte, indent int, brackets string) bool {
	text := bytes.TrimLeft(line, " ")
	return len(line)-len(text) == indent && bytes.HasPrefix(text, []byte(brackets))
}

// nextFlow is next for KYAML.
func (l *listText) nextFlow() []byte {
	end := 0
	for line := range bytes.Lines(l.items) {
		if between(line, l.indent, "}, {") {
			end += l.indent + len("}")
			item := l.items[:end]
			l.items = l.items[end+len(", "):]
			return item
		}
		end += len(line)
	}
	item := l.items
	l.items = nil
	return item
}
