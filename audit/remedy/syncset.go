package remedy

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// syncSet is Gatekeeper's SyncSet, with the fields that a remedy sets.
type syncSet struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		GVKs []syncKind `json:"gvks"`
	} `json:"spec"`
}

type syncKind struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

// syncSets returns a SyncSet for each template of Gatekeeper that looks up kinds that
// nothing replicates.
func syncSets(snap *snapshot.Snapshot, findings []audit.Finding) []*candidate {
	view := snap.View(snapshot.ConstraintTemplates, snapshot.GatekeeperConfigs, snapshot.SyncSets)
	replicated := map[snapshot.VersionKind]bool{}
	names := map[string]bool{}
	for r := range view.Replications() {
		names[r.Name] = true
		for _, k := range r.Kinds {
			replicated[k] = replicated[k] || r.Ignored == ""
		}
	}
	var out []*candidate
	for t := range view.ConstraintTemplates() {
		i := slices.IndexFunc(findings, func(f audit.Finding) bool { return f.Rule == "kind-replicated" && f.Subject.Name == t.Name })
		if i < 0 {
			continue
		}
		o := &syncSet{TypeMeta: metav1.TypeMeta{APIVersion: snapshot.SyncSets.Group() + "/v1alpha1", Kind: "SyncSet"}}
		for o.Metadata.Name = t.Name; names[o.Metadata.Name]; {
			o.Metadata.Name += "-sync"
		}
		fact := snapshot.Replication{Meta: snapshot.Meta{Group: snapshot.SyncSets.Group(), Kind: "SyncSet", Name: o.Metadata.Name}}
		for _, anyOf := range t.Requires {
			if len(anyOf) == 0 || slices.ContainsFunc(anyOf, func(k snapshot.VersionKind) bool { return replicated[k] }) {
				continue
			}
			fact.Kinds = append(fact.Kinds, anyOf[0])
			o.Spec.GVKs = append(o.Spec.GVKs, syncKind(anyOf[0]))
		}
		c := &candidate{ends: []string{findings[i].ID}, object: o}
		c.comment = fmt.Sprintf("Replicates what ConstraintTemplate %s looks up. Gatekeeper needs the right to list and watch these kinds.", t.Name)
		c.replications = []snapshot.Replication{fact}
		out = append(out, c)
	}
	return out
}
