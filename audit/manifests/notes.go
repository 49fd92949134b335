package manifests

import "fmt"

// tally is a number of files or folders, with the first of them as an example.
type tally struct {
	count   int
	example string
}

func (t *tally) add(name string) {
	if t.count == 0 {
		t.example = name
	}
	t.count++
}

// notes are what a reader of the report should know about the manifests as a whole, though
// nothing is wrong with any of them.
type notes struct {
	unnamed        int   // objects that name no namespace
	kustomizations tally // files
	charts         tally // Chart.yaml files
	untyped        tally // files in folders without any object
	hidden         tally // folders
	excluded       tally // files and folders
	merges         tally // documents in which kubectl's parser lets a merged key win
}

// lines returns a line for each note, given the namespace of objects that name none, the
// patterns that excluded nothing, and the workloads that no rule evaluates.
func (n *notes) lines(namespace string, unused []string, workloads string) []string {
	var out []string
	add := func(text string) { out = append(out, text) }
	if n.unnamed > 0 {
		add(either(n.unnamed, "1 object names no namespace and was taken", "%d objects name no namespace and were taken") +
			" for namespace " + namespace + ": --default-namespace sets another")
	}
	if t := n.kustomizations; t.count > 0 {
		add(either(t.count, "1 folder has", "%d folders have") + " a kustomization, which may set namespaces and other fields (" + t.example +
			"): render first with kustomize build, and sweep its output")
	}
	if t := n.charts; t.count > 0 {
		add(either(t.count, "1 folder has", "%d folders have") + " a Helm chart (" + t.example +
			"): render first with helm template, and sweep its output")
	}
	if t := n.untyped; t.count > 0 {
		add(either(t.count, "1 file without apiVersion and kind was", "%d files without apiVersion and kind were") +
			" passed over, for example " + t.example)
	}
	if t := n.hidden; t.count > 0 {
		add(either(t.count, "1 hidden folder was", "%d hidden folders were") + " passed over, for example " + t.example +
			": --from reads one that it names")
	}
	if t := n.excluded; t.count > 0 {
		add(either(t.count, "1 file or folder was", "%d files and folders were") + " left out by --exclude, for example " + t.example)
	}
	for _, pattern := range unused {
		add("--exclude " + pattern + " matches nothing")
	}
	if t := n.merges; t.count > 0 {
		add(either(t.count, "1 document overrides a merged key", "%d documents override merged keys") +
			" above the merge key (<<), for example " + t.example + ": YAML lets the mapping's own key win, as here, " +
			"but kubectl lets the merged one win. Put the merge key first")
	}
	if workloads != "" {
		add("workloads of kinds that are not evaluated: " + workloads)
	}
	return out
}

// either returns the singular for 1, and else the plural with the number.
func either(n int, singular, plural string) string {
	if n == 1 {
		return singular
	}
	return fmt.Sprintf(plural, n)
}
