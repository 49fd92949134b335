package manifests

import (
	"encoding/binary"
	"iter"
)

// slabSize is how many bytes of texts are held and let go together.
const slabSize = 1 << 20

// spool holds texts one behind the other. A slice of slices would take more room
// than small texts do, and could be let go only as a whole.
type spool struct {
	// slabs hold texts, each behind its length.
	slabs [][]byte
	texts int
}

// add copies a text to the end.
func (s *spool) add(text []byte) {
	last := len(s.slabs) - 1
	if last < 0 || len(s.slabs[last])+len(text) > slabSize {
		s.slabs = append(s.slabs, nil)
		last++
	}
	slab := binary.AppendUvarint(s.slabs[last], uint64(len(text)))
	s.slabs[last] = append(slab, text...)
	s.texts++
}

// drain returns every text in order, and lets go of what was returned. A text is
// valid as long as somebody holds it.
func (s *spool) drain() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for i, slab := range s.slabs {
			s.slabs[i] = nil
			for len(slab) > 0 {
				size, n := binary.Uvarint(slab)
				end := n + int(size)
				if !yield(slab[n:end:end]) {
					return
				}
				slab = slab[end:]
			}
		}
	}
}
