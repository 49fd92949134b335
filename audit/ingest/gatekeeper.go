package ingest

import (
	"encoding/json"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// annotationRequires is the annotation by which a ConstraintTemplate declares what must be
// in Gatekeeper's copy of the cluster.
const annotationRequires = "metadata.gatekeeper.sh/requires-sync-data"

// gatekeeperConfigName is the name of the one Config that Gatekeeper uses.
const gatekeeperConfigName = "config"

// constraintTemplate has the fields of a ConstraintTemplate that matter here.
type constraintTemplate struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     struct {
		Targets []struct {
			Rego string   `json:"rego"`
			Libs []string `json:"libs"`
			Code []struct {
				Source struct {
					Rego string   `json:"rego"`
					Libs []string `json:"libs"`
				} `json:"source"`
			} `json:"code"`
		} `json:"targets"`
	} `json:"spec"`
}

func (in *Ingester) constraintTemplate(o *constraintTemplate) snapshot.ConstraintTemplate {
	t := snapshot.ConstraintTemplate{Meta: in.meta(snapshot.ConstraintTemplates.Group(), "ConstraintTemplate", &o.Metadata)}
	for _, target := range o.Spec.Targets {
		code := append([]string{target.Rego}, target.Libs...)
		for _, c := range target.Code {
			code = append(append(code, c.Source.Rego), c.Source.Libs...)
		}
		t.LooksUp = t.LooksUp || strings.Contains(strings.Join(code, "\n"), "data.inventory")
	}
	if declared, ok := o.Metadata.Annotations[annotationRequires]; ok {
		var err error
		if t.Requires, err = requirements(declared); err != nil {
			t.Unreadable = err.Error()
		}
	}
	return t
}

// requirements parses what a template declares: a list of requirements, each a list of
// alternatives. Like Gatekeeper it strips quotes and line ends around the JSON, and
// rejects unknown fields.
func requirements(declared string) ([][]snapshot.VersionKind, error) {
	var all [][]struct {
		Groups   []string `json:"groups"`
		Versions []string `json:"versions"`
		Kinds    []string `json:"kinds"`
	}
	decoder := json.NewDecoder(strings.NewReader(strings.Trim(declared, "\n\"")))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&all); err != nil {
		return nil, fmt.Errorf("read annotation %s: %w", annotationRequires, err)
	}
	var out [][]snapshot.VersionKind
	for _, alternatives := range all {
		var kinds []snapshot.VersionKind
		for _, a := range alternatives {
			for _, group := range a.Groups {
				for _, version := range a.Versions {
					for _, kind := range a.Kinds {
						kinds = append(kinds, snapshot.VersionKind{Group: group, Version: version, Kind: kind})
					}
				}
			}
		}
		if len(kinds) > 0 {
			out = append(out, kinds)
		}
	}
	return out, nil
}

// gatekeeperConfig has the fields of a Config that matter here.
type gatekeeperConfig struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     struct {
		Sync struct {
			SyncOnly []metav1.GroupVersionKind `json:"syncOnly"`
		} `json:"sync"`
	} `json:"spec"`
}

func (in *Ingester) gatekeeperConfig(o *gatekeeperConfig) snapshot.Replication {
	r := snapshot.Replication{
		Meta:  in.meta(snapshot.GatekeeperConfigs.Group(), "Config", &o.Metadata),
		Kinds: versionKinds(o.Spec.Sync.SyncOnly),
	}
	if o.Metadata.Name != gatekeeperConfigName {
		r.Ignored = fmt.Sprintf("Gatekeeper uses only the Config named %s", gatekeeperConfigName)
	}
	return r
}

// syncSet has the fields of a SyncSet that matter here.
type syncSet struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     struct {
		GVKs []metav1.GroupVersionKind `json:"gvks"`
	} `json:"spec"`
}

func (in *Ingester) syncSet(o *syncSet) snapshot.Replication {
	return snapshot.Replication{
		Meta:  in.meta(snapshot.SyncSets.Group(), "SyncSet", &o.Metadata),
		Kinds: versionKinds(o.Spec.GVKs),
	}
}

func versionKinds(list []metav1.GroupVersionKind) []snapshot.VersionKind {
	var out []snapshot.VersionKind
	for _, k := range list {
		out = append(out, snapshot.VersionKind{Group: k.Group, Version: k.Version, Kind: k.Kind})
	}
	return out
}
