package main

// estateFindings is what is wrong with the sample estate, taken from the
// comments in its files. Owners are those of a sweep without the estate's
// config, and of one with it; a finding without the latter is not there then.
var estateFindings = []struct {
	rule, subject, verdict, severity, owners, withConfig string
	objects                                              []string
}{
	{
		"default-deny-present", "Namespace analytics (Egress)", "defeated", "medium", "namespace analytics", "data",
		[]string{"Deployment analytics/notebooks allow-all", "NetworkPolicy analytics/notebooks-anywhere allow-all"},
	},
	{
		"default-deny-present", "Namespace campaigns (Egress)", "missing", "high", "growth", "growth",
		[]string{
			"CronJob campaigns/newsletter no-policy", "Deployment campaigns/landing-pages no-policy",
			"Pod campaigns/load-test no-policy",
		},
	},
	{
		"default-deny-present", "Namespace campaigns (Ingress)", "missing", "high", "growth", "growth",
		[]string{
			"CronJob campaigns/newsletter no-policy", "Deployment campaigns/landing-pages no-policy",
			"Pod campaigns/load-test no-policy",
		},
	},
	{
		"default-deny-present", "Namespace catalog (Egress)", "missing", "high", "catalog", "catalog",
		[]string{"Deployment catalog/catalog no-policy", "StatefulSet catalog/search-index no-policy"},
	},
	{
		"default-deny-present", "Namespace checkout (Ingress)", "missing", "high", "checkout", "checkout",
		[]string{"Deployment checkout/fraud-score not-selected"},
	},
	{
		"default-deny-present", "Namespace identity (Egress)", "missing", "high", "identity", "identity",
		[]string{"CronJob identity/session-sweeper not-selected"},
	},
	{
		"default-deny-present", "Namespace identity (Ingress)", "missing", "high", "identity", "identity",
		[]string{"CronJob identity/session-sweeper not-selected"},
	},
	{
		"default-deny-present", "Namespace tracking (Ingress)", "defeated", "high", "logistics", "logistics",
		[]string{
			"Deployment tracking/carrier-events allow-all", "Deployment tracking/tracker allow-all",
			"NetworkPolicy tracking/tmp-debug allow-all",
		},
	},
	{
		"default-deny-present", "Namespace warehouse (Egress)", "defeated", "low", "logistics", "",
		[]string{
			"Deployment warehouse/labels allow-world", "Deployment warehouse/stock allow-world",
			"NetworkPolicy warehouse/allow-carriers allow-world",
		},
	},
	{
		"one-owner-per-host", "Host * (class nginx)", "contested", "high", "logistics, namespace intranet", "logistics, platform",
		[]string{"Ingress intranet/portal rule", "Ingress tracking/fallback default-backend"},
	},
	{
		"one-owner-per-host", "Host *.preview.example.com", "contested", "high", "catalog, logistics", "catalog, logistics",
		[]string{"Ingress catalog/preview rule", "Ingress tracking/previews rule"},
	},
	{
		"one-owner-per-host", "Host basket.example.com", "contested", "high", "checkout, storefront", "checkout, storefront",
		[]string{"Ingress checkout/basket rule", "Ingress shop-web/basket rule"},
	},
	{
		"one-owner-per-host", "Host catalog.example.com", "contested", "high", "catalog, growth", "catalog, growth",
		[]string{"Ingress campaigns/spring-sale server-alias", "Ingress catalog/catalog rule"},
	},
	{
		"one-owner-per-host", "Host news.example.com", "contested", "high", "content, growth", "content, growth",
		[]string{"Ingress apps/newsroom rule", "Ingress campaigns/newsletter external-dns"},
	},
	{
		"one-owner-per-host", "Host search.example.com", "contested", "high", "catalog, growth", "catalog, growth",
		[]string{"Ingress campaigns/search-landing rule", "Ingress catalog/search rule"},
	},
	{
		"owner-known", "Namespace analytics", "unowned", "low", "namespace analytics", "",
		[]string{"Deployment analytics/notebooks no-owner", "StatefulSet analytics/columns no-owner"},
	},
	{
		"owner-known", "Namespace intranet", "unowned", "low", "namespace intranet", "platform",
		[]string{"Deployment intranet/wiki no-owner", "ReplicationController intranet/portal no-owner"},
	},
	{
		"owner-known", "Namespace payments", "unowned", "low", "namespace payments", "",
		[]string{"Deployment payments/gateway no-owner", "StatefulSet payments/ledger no-owner"},
	},
}

// estateAdvisories is what is worth a line, with owners as above.
var estateAdvisories = []struct {
	rule, subject, owners, withConfig string
	objects                           []string
}{
	{
		"default-deny-present", "Namespace monitoring (host network)", "platform", "platform",
		[]string{"DaemonSet monitoring/node-exporter host-network"},
	},
	{
		"one-owner-per-host", "Host grafana.tools.example.org", "identity, platform", "identity, platform",
		[]string{"Ingress identity/tools-gateway rule", "Ingress monitoring/grafana rule"},
	},
	{
		"one-owner-per-host", "Host pay.example.com", "checkout, namespace payments", "checkout, payments",
		[]string{"Ingress checkout/checkout tls-only", "Ingress payments/pay rule", "Ingress payments/pay-internal rule"},
	},
	{
		"one-owner-per-host", "Ingress campaigns/search-landing", "growth", "growth",
		[]string{"Ingress campaigns/search-landing owner-contradiction"},
	},
}

// estateIsolation is what the policies of each namespace amount to: the number
// of live workloads, whether ingress and egress are denied by default, and what
// is open all the same.
var estateIsolation = []string{
	"analytics 2 present present partial all",
	"apps 2 present present none",
	"campaigns 3 missing missing none",
	"catalog 2 present missing none",
	"checkout 3 missing present none",
	"default 0 present present none",
	"identity 3 missing missing none",
	"ingress-nginx 2 present present none",
	"intranet 2 present present none",
	"kube-node-lease 0 missing missing none exempt",
	"kube-public 0 missing missing none exempt",
	"kube-system 1 missing missing none exempt",
	"monitoring 2 present present none",
	"payments 2 present present none",
	"shop-api 2 present present none",
	"shop-web 2 present present none",
	"tracking 2 present present ingress all",
	"warehouse 2 present present egress world",
}
