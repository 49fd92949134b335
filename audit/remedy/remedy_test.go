package remedy_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/audit/manifests"
	"github.com/eventuallytrue/audit/audit/remedy"
	"github.com/eventuallytrue/audit/rules/catalog"
)

const base = `
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {owner: team-a}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: web, ports: [{containerPort: 8080}, {containerPort: 53, protocol: UDP}]}]}
---
`

func policy(name, spec string) string {
	return "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: " + name + ", namespace: shop}\nspec: " + spec + "\n---\n"
}

func TestRemedies(t *testing.T) {
	denyAll := policy("deny", "{podSelector: {}, policyTypes: [Ingress, Egress]}")
	for _, c := range []struct {
		says, manifests string
		want            string // the remedy of every finding; "" for none
	}{
		{
			"a default-deny for both directions keeps DNS", base,
			`# Denies ingress and egress in namespace shop by default.
# DNS stays open; adjust the rule if DNS runs elsewhere.
# Traffic that no other policy allows will be cut. Review it before you apply it.
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: default-deny
  namespace: shop
spec:
  egress:
  - ports:
    - port: 53
      protocol: UDP
    - port: 53
      protocol: TCP
    to:
    - namespaceSelector:
        matchLabels:
          kubernetes.io/metadata.name: kube-system
      podSelector:
        matchLabels:
          k8s-app: kube-dns
  podSelector: {}
  policyTypes:
  - Ingress
  - Egress
`,
		}, {
			"only the missing direction is denied, under a name that is free",
			base + policy("default-deny", "{podSelector: {}, policyTypes: [Egress]}"),
			`# Denies ingress in namespace shop by default.
# Traffic that no other policy allows will be cut. Review it before you apply it.
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: default-deny-2
  namespace: shop
spec:
  podSelector: {}
  policyTypes:
  - Ingress
`,
		}, {
			"an allow-all is narrowed to declared ports",
			base + denyAll + policy("tmp", "{podSelector: {matchLabels: {app: web}}, ingress: [{}]}"),
			`# Replaces NetworkPolicy tmp: admits pods of the cluster on the ports that workloads declare.
# Traffic that nothing declares will be cut. Review it before you apply it.
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: tmp
  namespace: shop
spec:
  ingress:
  - from:
    - namespaceSelector: {}
    ports:
    - port: 8080
      protocol: TCP
    - port: 53
      protocol: UDP
  podSelector:
    matchLabels:
      app: web
  policyTypes:
  - Ingress
`,
		}, {
			"an allow-all that is also about egress is only shown",
			base + denyAll + policy("tmp", "{podSelector: {}, ingress: [{}], egress: [{ports: [{port: 443}]}]}"),
			`# These policies admit more than a default-deny leaves. Narrow or remove them:
#   kubectl get networkpolicies.networking.k8s.io tmp -o yaml -n shop   # owned by team-a
`,
		}, {
			"one of two allow-alls is not enough",
			base + denyAll + policy("one", "{podSelector: {}, ingress: [{}]}") + policy("two", "{podSelector: {}, ingress: [{}]}"),
			`# These policies admit more than a default-deny leaves. Narrow or remove them:
#   kubectl get networkpolicies.networking.k8s.io one -o yaml -n shop   # owned by team-a
#   kubectl get networkpolicies.networking.k8s.io two -o yaml -n shop   # owned by team-a
`,
		}, {
			"nothing is written that the plugin does not enforce",
			base + "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cilium-config, namespace: kube-system}\ndata: {enable-policy: never}\n---\n" +
				"apiVersion: cilium.io/v2\nkind: CiliumNetworkPolicy\nmetadata: {name: x, namespace: lab}\nspec: {endpointSelector: {}, ingress: []}\n",
			"",
		},
	} {
		t.Run(c.says, func(t *testing.T) {
			res := sweep(t, c.manifests)
			found := remedy.Find(res, "owner")
			n := 0
			for _, f := range res.Findings {
				if f.Subject.Name != "shop" {
					continue
				}
				n++
				if got := found[f.ID]; got != c.want {
					t.Errorf("%s: got\n%s\nwant\n%s", f.Subject, got, c.want)
				}
			}
			if n == 0 {
				t.Error("no finding")
			}
		})
	}
}

func TestRemediesToRun(t *testing.T) {
	res := sweep(t, `
apiVersion: v1
kind: Namespace
metadata: {name: a, labels: {owner: team-a}}
---
apiVersion: v1
kind: Namespace
metadata: {name: lab}
---
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: lab}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: one, namespace: a}
spec: {rules: [{host: shop.example.com}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: two, namespace: lab}
spec: {rules: [{host: shop.example.com}]}
`)
	want := map[string]string{
		"one-owner-per-host": `# These objects claim shop.example.com. Agree on which owner keeps it:
#   kubectl get ingresses.networking.k8s.io one -o yaml -n a   # owned by team-a
#   kubectl get ingresses.networking.k8s.io two -o yaml -n lab
# Then remove the host from the objects of the others, where they come from.
`,
		"owner-known": "# Name the team that owns the namespace:\n#   kubectl annotate namespace lab owner=TEAM\n",
	}
	found := remedy.Find(res, "owner")
	for _, f := range res.Findings {
		if w, ok := want[f.Rule]; ok && found[f.ID] != w {
			t.Errorf("%s: got\n%s\nwant\n%s", f.Rule, found[f.ID], w)
		}
	}
}

// TestRemediesOfTheSampleEstate holds that every object which is printed ends its finding
// and opens no other, when it is swept together with the rest.
func TestRemediesOfTheSampleEstate(t *testing.T) {
	res := sweep(t, "", "../../testdata/estate")
	before := map[string]bool{}
	for _, f := range res.Findings {
		before[f.ID] = true
	}
	var applied []string
	var ended []string
	for id, text := range remedy.Find(res, "owner") {
		if strings.Contains(text, "\nkind: ") {
			applied = append(applied, text)
			ended = append(ended, id)
		}
	}
	if len(ended) == 0 {
		t.Fatal("no remedy to apply")
	}
	again := sweep(t, strings.Join(applied, "---\n"), "../../testdata/estate")
	after := map[string]bool{}
	for _, f := range again.Findings {
		after[f.ID] = true
		if !before[f.ID] {
			t.Errorf("opened: %s", f.Message)
		}
	}
	for _, id := range ended {
		if after[id] {
			t.Errorf("%s is still there", id)
		}
	}
}

func sweep(t *testing.T, text string, paths ...string) *audit.Result {
	t.Helper()
	if text != "" {
		file := filepath.Join(t.TempDir(), "manifests.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, file)
	}
	cfg := config.Default()
	src := &manifests.Source{Paths: paths, DefaultNamespace: "default", OwnerKeys: cfg.Owners.Keys, HostSources: cfg.EnabledHostSources(), ExternalDNSPrefixes: cfg.Hosts.Prefixes()}
	res, err := audit.Sweep(context.Background(), src, catalog.All(), &cfg, time.Now, nil)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// A name from a manifest must not become a command.
func TestCommandsQuoteNames(t *testing.T) {
	res := sweep(t, `
apiVersion: v1
kind: Namespace
metadata: {name: "a; rm -rf ~"}
---
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: "a; rm -rf ~"}
`)
	for _, f := range res.Findings {
		if text := remedy.Find(res, "owner")[f.ID]; f.Rule == "owner-known" && !strings.Contains(text, "namespace 'a; rm -rf ~' owner=TEAM") {
			t.Errorf("not quoted:\n%s", text)
		}
	}
}
