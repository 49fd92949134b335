package manifests

import "bytes"

// listText is the text of a mapping that has its items on lines of their own, each
// behind a dash at the same place:
//
//	apiVersion: v1
//	items:
//	- kind: Namespace
//	...
//	kind: List
type listText struct {
	head, items, tail []byte
	indent            int  // of the dashes, or of the brackets between items
	flow              bool // it is KYAML
	// mark stands in the place of items, or behind one, and nowhere else.
	mark string
}

// cutList looks for the items of a document. It looks at the beginnings of lines
// and at nothing else, and may well be wrong: in a text in quotes, lines look as
// they like. See parseList for why that does no harm.
func cutList(document []byte) (listText, bool) {
	begin := 0
	for line := range bytes.Lines(document) {
		begin += len(line)
		if line[0] == '%' {
			return listText{}, false // may give tags another meaning, in each item
		}
		if rest, ok := bytes.CutPrefix(line, []byte("items:")); ok && blank(rest) {
			break
		}
	}
	l := listText{indent: -1, head: document[:begin], items: document[begin:]}
	end := begin
	for line := range bytes.Lines(document[begin:]) {
		indent := len(line) - len(bytes.TrimLeft(line, " "))
		switch {
		case blank(line):
		case l.indent < 0 && dash(line, indent):
			l.indent = indent
		case l.indent < 0:
			return l, false
		case indent < l.indent || indent == l.indent && !dash(line, indent):
			l.items, l.tail = document[begin:end], document[end:]
			return l, true
		}
		end += len(line)
	}
	return l, l.indent >= 0
}

// blank tells a line that holds nothing but blanks and a comment.
func blank(line []byte) bool {
	line = bytes.TrimLeft(line, " \t\r\n")
	return len(line) == 0 || line[0] == '#'
}

// dash tells a line that begins an item.
func dash(line []byte, indent int) bool {
	if len(line) <= indent || line[indent] != '-' || len(bytes.TrimLeft(line[:indent], " ")) > 0 {
		return false
	}
	return len(line) == indent+1 || bytes.IndexByte([]byte(" \t\r\n"), line[indent+1]) >= 0
}

// next returns the next item, or nothing. With it come its dash and the comments
// around it.
func (l *listText) next() []byte {
	if l.flow {
		return l.nextFlow()
	}
	end, begun := 0, false
	for line := range bytes.Lines(l.items) {
		if dash(line, l.indent) {
			if begun {
				break
			}
			begun = true
		}
		end += len(line)
	}
	item := l.items[:end]
	l.items = l.items[end:]
	return item
}
