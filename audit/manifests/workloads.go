package manifests

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"

	"github.com/eventuallytrue/audit/audit"
)

// otherWorkloads counts the objects that run pods and are of kinds that no rule evaluates,
// by kind. It returns "" if there are none.
func otherWorkloads(ignored map[audit.IgnoredKind]int) string {
	byKind := map[string]int{}
	for p, n := range ignored {
		if p.RunsPods {
			byKind[p.Kind] += n
		}
	}
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(byKind)) {
		parts = append(parts, fmt.Sprintf("%d %s", byKind[kind], kind))
	}
	return strings.Join(parts, ", ")
}

// podless are the kinds that run workloads, though their objects have no template of a
// pod. Sources: kubevirt.io/user-guide (VirtualMachine), fluxcd.io/flux/components (helm,
// kustomize), docs.k3s.io/helm (HelmChart), argo-cd.readthedocs.io (Application),
// argo-workflows.readthedocs.io, tekton.dev/docs.
func podless() map[schema.GroupKind]bool {
	return map[schema.GroupKind]bool{
		{Group: "kubevirt.io", Kind: "VirtualMachine"}:                   true,
		{Group: "kubevirt.io", Kind: "VirtualMachineInstance"}:           true,
		{Group: "kubevirt.io", Kind: "VirtualMachineInstanceReplicaSet"}: true,
		{Group: "pool.kubevirt.io", Kind: "VirtualMachinePool"}:          true,
		{Group: "helm.toolkit.fluxcd.io", Kind: "HelmRelease"}:           true,
		{Group: "helm.fluxcd.io", Kind: "HelmRelease"}:                   true,
		{Group: "kustomize.toolkit.fluxcd.io", Kind: "Kustomization"}:    true,
		{Group: "helm.cattle.io", Kind: "HelmChart"}:                     true,
		{Group: "argoproj.io", Kind: "Application"}:                      true,
		{Group: "argoproj.io", Kind: "ApplicationSet"}:                   true,
		{Group: "argoproj.io", Kind: "Rollout"}:                          true, // it may refer to its template
		{Group: "argoproj.io", Kind: "Workflow"}:                         true,
		{Group: "argoproj.io", Kind: "CronWorkflow"}:                     true,
		{Group: "tekton.dev", Kind: "TaskRun"}:                           true,
		{Group: "tekton.dev", Kind: "PipelineRun"}:                       true,
		{Group: "apps.openshift.io", Kind: "DeploymentConfig"}:           true, // its template is optional
	}
}

// inert reports whether objects with templates of pods run nothing themselves: histories,
// templates that others refer to, and policies that have templates as patterns.
func inert(group, kind string) bool {
	switch group {
	case "kyverno.io", "policies.kyverno.io", "constraints.gatekeeper.sh", "mutations.gatekeeper.sh", "admissionregistration.k8s.io":
		return true
	case "":
		return kind == "PodTemplate"
	case "apps":
		return kind == "ControllerRevision"
	}
	return false
}

// runsPods reports whether an object of a kind that no rule evaluates runs workloads: it
// has a template of a pod somewhere, or its kind is known to.
func runsPods(group, kind string, text []byte) bool {
	if podless()[schema.GroupKind{Group: group, Kind: kind}] {
		return true
	}
	// Nearly all objects end here, without being decoded.
	if inert(group, kind) || !bytes.Contains(text, []byte(`"containers"`)) {
		return false
	}
	var o map[string]any
	if kjson.UnmarshalCaseSensitivePreserveInts(text, &o) != nil {
		return false
	}
	for field, value := range o {
		if field != "metadata" && field != "status" && hasPodTemplate(value, "", maxDepth) {
			return true
		}
	}
	return false
}

// maxDepth bounds how deep in an object a template of a pod is looked for.
const maxDepth = 16

// hasPodTemplate reports whether a value, in the field of that name, has a template of a
// pod: spec.containers, a list of mappings with an image, in a field that is called a
// template.
func hasPodTemplate(value any, field string, depth int) bool {
	if depth == 0 {
		return false
	}
	switch v := value.(type) {
	case map[string]any:
		if spec, ok := v["spec"].(map[string]any); ok && strings.HasSuffix(strings.ToLower(field), "template") && hasImage(spec["containers"]) {
			return true
		}
		for key, inner := range v {
			if hasPodTemplate(inner, key, depth-1) {
				return true
			}
		}
	case []any:
		for _, inner := range v {
			if hasPodTemplate(inner, field, depth-1) {
				return true
			}
		}
	}
	return false
}

func hasImage(containers any) bool {
	list, _ := containers.([]any)
	for _, c := range list {
		if m, ok := c.(map[string]any); ok {
			if image, ok := m["image"].(string); ok && image != "" {
				return true
			}
		}
	}
	return false
}
