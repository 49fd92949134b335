package html_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	xhtml "golang.org/x/net/html"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify/html"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

var swept = time.Date(2026, 9, 29, 10, 5, 0, 0, time.UTC)

// hostile are texts that must not end an element, run, load or hide anything.
func hostile() []string {
	return []string{
		`<script>document.title='owned'</script>`, `"><img src=x onerror=alert(1)>`, `' onmouseover='alert(1)`,
		`</style><style>*{display:none}`, `</script><script>alert(1)</script>`, `javascript:alert(1)`, "a\u202egnp.exe", "zero\u200bwidth",
		"line\nbreak\x00\x1b[31m", `{{.Cluster}}`, `<!--`, `]]>`, "&lt;b&gt;", strings.Repeat("x", 3000), "\xff\xfe",
	}
}

// estate returns a result with n findings and, for each hostile text, one more.
func estate(n int, texts []string) *audit.Result {
	res := &audit.Result{Cluster: "prod-eu-1", Started: swept, Finished: swept.Add(time.Second)}
	res.Rules = []audit.Outcome{{Rule: "default-deny-present", Status: audit.RuleRan}, {Rule: "one-owner-per-host", Status: audit.RuleRan}}
	res.Reads = []snapshot.Read{{Kind: snapshot.Namespaces, Version: "v1", Status: snapshot.Listed, Items: n}}
	add := func(i int, name, owner, text string) {
		severity := rules.Severity(i%3 + 1)
		for _, d := range []string{"Ingress", "Egress"} {
			s := rules.Subject{Kind: rules.SubjectNamespace, Name: name, Detail: d}
			res.Findings = append(res.Findings, audit.Finding{
				ID: rules.ID("default-deny-present", s), Rule: "default-deny-present", Severity: severity, Subject: s, Verdict: "missing",
				Owners: []string{owner}, Message: text, Cause: text, Remedy: text, State: audit.StateOpen, FirstSeen: swept.Add(-48 * time.Hour),
				Objects: []rules.Object{{Ref: snapshot.Ref{Kind: text, Namespace: name, Name: text}, Owner: owner, Detail: text, Created: swept}},
			})
		}
		res.Namespaces = append(res.Namespaces, name)
		res.Ownership = append(res.Ownership, audit.NamespaceOwner{Namespace: name, Owner: owner, By: text})
		res.Isolation = append(res.Isolation, rules.Isolation{Namespace: name, Ingress: rules.Missing, Egress: rules.Missing, Open: "none"})
	}
	for i := range n {
		add(i, fmt.Sprintf("ns-%05d", i), fmt.Sprintf("team-%02d", i%20), "No policy denies ingress.")
	}
	for i, text := range texts {
		add(i, text, text, text)
		res.Advisories = append(res.Advisories, audit.Advisory{Rule: text, Subject: rules.Subject{Kind: text, Name: text}, Owners: []string{text}, Message: text})
		res.Problems = append(res.Problems, audit.Problem{Where: text, Reason: text})
	}
	return res
}

func page(t *testing.T, res *audit.Result) (string, *xhtml.Node) {
	t.Helper()
	var out bytes.Buffer
	if err := html.Write(&out, res); err != nil {
		t.Fatal(err)
	}
	root, err := xhtml.Parse(bytes.NewReader(out.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), root
}

// elements returns all elements of the page in order.
func elements(root *xhtml.Node) []*xhtml.Node {
	var all []*xhtml.Node
	for n := range root.Descendants() {
		if n.Type == xhtml.ElementNode {
			all = append(all, n)
		}
	}
	return all
}

func attr(n *xhtml.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func text(n *xhtml.Node) string {
	var b strings.Builder
	for c := range n.Descendants() {
		if c.Type == xhtml.TextNode {
			b.WriteString(c.Data)
		}
	}
	return b.String()
}

func TestHostileTextsStayText(t *testing.T) {
	res := estate(2, hostile())
	for i := range res.Findings {
		res.Findings[i].Fix = hostile()[i%len(hostile())]
	}
	source, root := page(t, res)
	counts := map[string]int{}
	for _, n := range elements(root) {
		counts[n.Data]++
		for _, a := range n.Attr {
			if strings.HasPrefix(a.Key, "on") {
				t.Errorf("<%s> has the handler %s=%q", n.Data, a.Key, a.Val)
			}
			if (a.Key == "href" || a.Key == "src") && !strings.HasPrefix(a.Val, "#") {
				t.Errorf("<%s> refers to %s", n.Data, a.Val)
			}
		}
	}
	for element, want := range map[string]int{"script": 1, "style": 1, "img": 0, "b": counts["b"], "title": 1} {
		if counts[element] != want {
			t.Errorf("%d <%s>, want %d", counts[element], element, want)
		}
	}
	for _, hidden := range []string{"\u202e", "\u200b", "\x1b", "\x00"} {
		if strings.Contains(source, hidden) {
			t.Errorf("the page contains %q", hidden)
		}
	}
}

func TestPolicyNamesStyleAndScript(t *testing.T) {
	_, root := page(t, estate(1, nil))
	policy := ""
	for _, n := range elements(root) {
		if attr(n, "http-equiv") == "Content-Security-Policy" {
			policy = attr(n, "content")
		}
	}
	if !strings.HasPrefix(policy, "default-src 'none';") {
		t.Errorf("policy %q allows more than it names", policy)
	}
	for _, n := range elements(root) {
		if n.Data != "style" && n.Data != "script" {
			continue
		}
		sum := sha256.Sum256([]byte(text(n)))
		if want := n.Data + "-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !strings.Contains(policy, want) {
			t.Errorf("policy %q lacks %s", policy, want)
		}
	}
}

func TestUnknownComesBeforeFindings(t *testing.T) {
	res := estate(1, nil)
	res.Reads = append(res.Reads, snapshot.Read{Kind: snapshot.Ingresses, Status: snapshot.Forbidden, Err: "not allowed"})
	source, _ := page(t, res)
	unknown, findings := strings.Index(source, `id="unknown"`), strings.Index(source, `id="findings"`)
	if unknown < 0 || unknown > findings {
		t.Errorf("unknown at %d, findings at %d", unknown, findings)
	}
	for _, want := range []string{"The sweep is incomplete", "ingresses.networking.k8s.io", "forbidden: not allowed", `<dd class="">0</dd>`} {
		if !strings.Contains(source, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestBothDirectionsAreOneRow(t *testing.T) {
	res := estate(3, nil)
	res.Findings[0].Fix = "apiVersion: v1\n"
	_, root := page(t, res)
	rows, ids := 0, map[string]bool{}
	for _, n := range elements(root) {
		if attr(n, "class") == "finding" {
			rows++
		}
		if id := attr(n, "id"); id != "" {
			if ids[id] {
				t.Errorf("ID %s is used twice", id)
			}
			ids[id] = true
		}
	}
	if rows != 3 {
		t.Errorf("%d rows, want 3", rows)
	}
	for _, f := range res.Findings {
		if !ids[f.ID] {
			t.Errorf("finding %s has no anchor", f.ID)
		}
	}
	for _, name := range []string{"namespace-ns-00000", "owner-team-00"} {
		if !ids[name] {
			t.Errorf("no anchor %s", name)
		}
	}
}

// TestAccessible checks what an automatic checker can: a language, names of controls,
// headings in order, headers of tables, and contrast.
func TestAccessible(t *testing.T) {
	_, root := page(t, estate(3, nil))
	level := 0
	for _, n := range elements(root) {
		switch n.Data {
		case "html":
			if attr(n, "lang") == "" {
				t.Error("the page has no language")
			}
		case "h1", "h2", "h3", "h4":
			if l := int(n.Data[1] - '0'); l > level+1 {
				t.Errorf("heading %q is of level %d below one of level %d", text(n), l, level)
			} else {
				level = l
			}
		case "input", "select":
			if n.Parent.Data != "label" {
				t.Errorf("<%s id=%s> has no label", n.Data, attr(n, "id"))
			}
		case "th":
			if attr(n, "scope") == "" {
				t.Errorf("header %q has no scope", text(n))
			}
		case "a", "button", "summary":
			if strings.TrimSpace(text(n)) == "" {
				t.Errorf("<%s> has no name", n.Data)
			}
		}
		if of := attr(n, "aria-labelledby"); of != "" && !slices.ContainsFunc(elements(root), func(o *xhtml.Node) bool { return attr(o, "id") == of }) {
			t.Errorf("<%s> is labelled by %s, which is not there", n.Data, of)
		}
	}
}

// TestContrast holds the colors of texts against those they are on (WCAG 2.2, 1.4.3).
func TestContrast(t *testing.T) {
	css, err := os.ReadFile("page.css")
	if err != nil {
		t.Fatal(err)
	}
	schemes := regexp.MustCompile(`:root\{([^}]*)\}`).FindAllStringSubmatch(string(css), -1)
	if len(schemes) != 3 {
		t.Fatalf("%d color schemes, want light, dark and print", len(schemes))
	}
	for i, scheme := range schemes {
		colors := map[string]float64{}
		for declaration := range strings.SplitSeq(scheme[1], ";") {
			name, value, _ := strings.Cut(declaration, ":")
			colors[strings.TrimPrefix(name, "--")] = luminance(t, value)
		}
		for _, fg := range []string{"fg", "dim", "accent", "high", "medium", "low", "doubt"} {
			for _, bg := range []string{"bg", "soft"} {
				a, b := colors[fg], colors[bg]
				if ratio := (max(a, b) + 0.05) / (min(a, b) + 0.05); ratio < 4.5 {
					t.Errorf("scheme %d: %s on %s has contrast %.1f", i, fg, bg, ratio)
				}
			}
		}
	}
}

// luminance is the relative luminance of a color such as #0550ae or #fff.
func luminance(t *testing.T, color string) float64 {
	t.Helper()
	hex := strings.TrimPrefix(strings.TrimSpace(color), "#")
	if len(hex) == 3 {
		hex = string([]byte{hex[0], hex[0], hex[1], hex[1], hex[2], hex[2]})
	}
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, err := strconv.ParseUint(hex[2*i:2*i+2], 16, 8)
		if err != nil {
			t.Fatalf("color %q: %v", color, err)
		}
		c := float64(n) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}

func TestManyFindings(t *testing.T) {
	source, root := page(t, estate(10_000, nil))
	rows := 0
	for _, n := range elements(root) {
		if attr(n, "class") == "finding" {
			rows++
		}
	}
	if rows != 10_000 {
		t.Errorf("%d rows, want 10000", rows)
	}
	if perRow := len(source) / rows; perRow > 4096 {
		t.Errorf("%d bytes a row", perRow)
	}
}
