package manifests

import (
	"bytes"
	"fmt"

	"go.yaml.in/yaml/v3"
	kyaml "sigs.k8s.io/yaml"
)

// mergedToJSON converts a document in which a mapping has a key of a mapping that is merged
// into it (<<), which the strict conversion takes for a repeated key. The mapping's own
// key wins (yaml.org/type/merge).
//
// The merges are written out and the result is converted as any other document, so that
// scalars keep kubectl's meaning of YAML 1.1. It returns nil if there is no merge.
func mergedToJSON(document []byte) ([]byte, error) {
	var root yaml.Node
	if yaml.Unmarshal(document, &root) != nil || !hasMerge(&root) {
		return nil, nil
	}
	if err := writeOutMerges(&root, map[*yaml.Node]bool{}); err != nil {
		return nil, err
	}
	text, err := yaml.Marshal(&root)
	if err != nil {
		return nil, err
	}
	return kyaml.YAMLToJSONStrict(text)
}

// laterWins reports whether kubectl's parser reads a document otherwise: to it, a merge is
// one more assignment, so a merge key behind a key of the mapping overrides that.
func laterWins(document, json []byte) bool {
	other, err := kyaml.YAMLToJSON(document)
	return err != nil || !bytes.Equal(other, json)
}

func hasMerge(n *yaml.Node) bool {
	if n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if isMerge(n.Content[i]) {
				return true
			}
		}
	}
	for _, child := range n.Content {
		if hasMerge(child) {
			return true
		}
	}
	return false
}

func isMerge(key *yaml.Node) bool {
	return key.Kind == yaml.ScalarNode && key.Value == "<<" && key.ShortTag() == "!!merge"
}

// writeOutMerges replaces each merge key by the keys that it adds. The document is known to
// expand to a bounded size, and no value in it contains itself.
func writeOutMerges(n *yaml.Node, done map[*yaml.Node]bool) error {
	if done[n] {
		return nil
	}
	done[n] = true
	if n.Kind == yaml.AliasNode {
		return writeOutMerges(n.Alias, done)
	}
	for _, child := range n.Content {
		if err := writeOutMerges(child, done); err != nil {
			return err
		}
	}
	if n.Kind != yaml.MappingNode {
		return nil
	}
	own, merges, err := separateMerges(n)
	if err != nil || len(merges) == 0 {
		return err
	}
	has := map[string]bool{}
	for i := 0; i+1 < len(own); i += 2 {
		has[own[i].Value] = true
	}
	for _, m := range merges {
		for i := 0; i+1 < len(m.Content); i += 2 {
			if key := m.Content[i]; !has[key.Value] {
				has[key.Value] = true
				own = append(own, withoutAnchor(key), withoutAnchor(m.Content[i+1]))
			}
		}
	}
	n.Content = own
	return nil
}

// separateMerges returns the keys and values of a mapping that are its own, and the
// mappings that are merged into it: an earlier one wins over a later one. A repeated key is
// an error, because only one of them would count.
func separateMerges(n *yaml.Node) (own, merges []*yaml.Node, err error) {
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind == yaml.ScalarNode {
			if seen[key.Value] {
				return nil, nil, fmt.Errorf("yaml: line %d: key %q already set in map", key.Line, key.Value)
			}
			seen[key.Value] = true
		}
		if !isMerge(key) {
			own = append(own, key, value)
			continue
		}
		sources := []*yaml.Node{value}
		if value.Kind == yaml.SequenceNode {
			sources = value.Content
		}
		for _, source := range sources {
			if source.Kind == yaml.AliasNode {
				source = source.Alias
			}
			if source.Kind != yaml.MappingNode {
				return nil, nil, fmt.Errorf("yaml: line %d: map merge requires map or sequence of maps as the value", key.Line)
			}
			merges = append(merges, source)
		}
	}
	return own, merges, nil
}

// withoutAnchor returns a node that is written a second time.
func withoutAnchor(n *yaml.Node) *yaml.Node {
	if n.Anchor == "" {
		return n
	}
	again := *n
	again.Anchor = ""
	return &again
}
