package metrics

import (
	"strings"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Vocabulary holds the words that may be values of labels, beside those of the
// program. It must not come from the cluster.
type Vocabulary struct {
	// Rules are the names of all rules there are.
	Rules []string
	// Owners are the owners of the registry. Of more than there is room for the
	// first count.
	Owners []string
	// Kinds are the kinds that are read.
	Kinds []snapshot.Kind
	// Version is that of the program.
	Version string
}

// The most series there may be of what grows with a config: so many by rule and
// owner, and so many kinds and senders. All metrics together stay below 500.
const (
	maxOwnerSeries = 200
	maxKinds       = 70
	maxSenders     = 5
)

// other stands for every word that is not in the vocabulary.
const other = "other"

// words are the values that a label may have.
type words map[string]bool

// newWords takes the first words of a list.
func newWords(list []string, most int) words {
	w := words{}
	for _, word := range list {
		if len(w) < most {
			w[strings.ToValidUTF8(word, "?")] = true
		}
	}
	return w
}

// of returns a word if it is known.
func (w words) of(word string) string {
	if w[word] {
		return word
	}
	return other
}

func (v *Vocabulary) rules() words { return newWords(v.Rules, len(v.Rules)) }

func (v *Vocabulary) owners() words {
	return newWords(v.Owners, max(1, maxOwnerSeries/max(1, len(v.Rules)+1)-1))
}

func (v *Vocabulary) kinds() words {
	list := make([]string, len(v.Kinds))
	for i, k := range v.Kinds {
		list[i] = string(k)
	}
	return newWords(list, maxKinds)
}
