package expression_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/rules/hosts/expression"
)

func TestNames(t *testing.T) {
	for _, c := range []struct {
		text  string
		whole bool
		want  []string
		wider bool
	}{
		{`^shop\.example\.com$`, false, []string{"shop.example.com"}, false},
		{`^SHOP[.]Example\x2ecom$`, false, []string{"shop.example.com"}, false},
		{`shop\.example\.com`, true, []string{"shop.example.com"}, false},
		{`\Ashop\.example\.com\z`, false, []string{"shop.example.com"}, false},
		{`^(?P<name>shop|cart)\.example\.com$`, false, []string{"shop.example.com", "cart.example.com"}, false},
		{`(^shop\.example\.com$|^cart\.example\.com$)`, false, []string{"shop.example.com", "cart.example.com"}, false},
		{`^[s][h][o][p]\.example\.com$`, false, []string{"shop.example.com"}, false},
		{`^sho[op]{1,2}\.x$`, false, []string{"shoo.x", "shop.x", "shooo.x", "shoop.x", "shopo.x", "shopp.x"}, false},
		{`^(www\.)?shop\.x$`, false, []string{"www.shop.x", "shop.x"}, false},
		{`^\bshop\b\.x$`, false, []string{"shop.x"}, false},
		{`^()shop(?:)\.x$`, false, []string{"shop.x"}, false},
		// A dot means a dot, and more.
		{`^shop.example.com$`, false, []string{"shop.example.com"}, true},
		// Parts that match any number of characters hide no part that does not.
		{`^shop\.x$|^zz[0-9]+$`, false, []string{"shop.x"}, true},
		{`^(shop|[a-z]+-test)\.x$`, false, []string{"shop.x"}, true},
		{`^shop\.x$|[a-z]{9}`, false, []string{"shop.x"}, true},
		// Without anchors the rest of the host may be anything.
		{`shop\.example\.com`, false, nil, true},
		{`^shop\.example\.com`, false, nil, true},
		{`^[a-z]+\.example\.com$`, false, nil, true},
		{`^[a-z][a-z]\.x$`, false, nil, true},
		{`^.+$`, false, nil, true},
		// Nothing matches.
		{`$shop\.x^`, false, nil, false},
		{`^(?-i:SHOP)\.x$`, false, nil, false},
	} {
		e, err := expression.Parse(c.text, c.whole)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if diff := cmp.Diff(c.want, e.Names()); diff != "" || e.Wider() != c.wider {
			t.Errorf("%s: wider %t, want %t; names (-want +got):\n%s", c.text, e.Wider(), c.wider, diff)
		}
	}
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		text, host string
		whole      bool
		want       bool
	}{
		{`^SHO.\.example\.com$`, "shop.example.com", false, true},
		{`shop`, "my-shop.example.com", false, true},
		{`shop`, "my-shop.example.com", true, false},
		{`a|b`, "ab", true, false},
		{`^www\.`, "www.example.com", false, true},
		{`^www\.`, "web.example.com", false, false},
	} {
		e, err := expression.Parse(c.text, c.whole)
		if err != nil || e.Matches(c.host) != c.want {
			t.Errorf("%s and %s, whole %t: got %t, %v", c.text, c.host, c.whole, !c.want, err)
		}
	}
}

func TestEveryHost(t *testing.T) {
	for text, want := range map[string]bool{
		`.+`: true, `^.*$`: true, `^[a-z0-9.-]+$`: true, `(.|\n)*`: true, ``: true, `[^x]|x`: true, `shop|.`: true,
		`^.+\.example\.com$`: false, `^[a-z]+$`: false, `shop`: false, `^www\.`: false, `^.+\.[a-z]{2,3}$`: false,
	} {
		e, err := expression.Parse(text, false)
		if err != nil || e.EveryHost() != want {
			t.Errorf("%q: got %t, %v", text, !want, err)
		}
	}
}

func TestEveryHostBelow(t *testing.T) {
	for text, want := range map[string]bool{
		`^.+\.example\.com$`: true, `^[a-z]+\.example\.com$`: true, `^[a-z0-9-]+\.example\.com$`: true, `.`: true, `^[^x]`: true,
		`^shop-[0-9]+\.example\.com$`: false, `^shop\.example\.com$`: false, `^.+\.example\.net$`: false, `^example\.com$`: false,
	} {
		e, err := expression.Parse(text, false)
		if err != nil || e.EveryHostBelow("*.example.com") != want {
			t.Errorf("%q: got %t, %v", text, !want, err)
		}
	}
}

func TestUnreadable(t *testing.T) {
	for text, want := range map[string]string{
		`^(?!www)shop\.x$`:          "RE2 cannot read it: invalid or unsupported Perl syntax",
		`^(a)\1$`:                   "RE2 cannot read it: invalid escape sequence",
		`^(shop`:                    "RE2 cannot read it: missing closing )",
		`a)|(b`:                     "RE2 cannot read it: unexpected )",
		strings.Repeat("a", 2000):   "it is longer than 1024 bytes",
		`(a{50}b{50}){20}`:          "it has more than 2000 steps",
		`((a{10}){10}){10}{10}`:     "RE2 cannot read it: invalid nested repetition operator",
		`((((a{10}){10}){10}){10})`: "RE2 cannot read it: invalid repeat count",
	} {
		if _, err := expression.Parse(text, false); err == nil || err.Error() != want {
			t.Errorf("%.40s: got %v, want %s", text, err, want)
		}
	}
}

// Whatever the text, it is read soon, and each name is one that it matches.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`^shop\.example\.com$`, `^[a-z]{3}[0-9]?$`, `(((a|b)|c){2}|d)*`, strings.Repeat(`[a-z]?`, 150), strings.Repeat(`\pL{9}`, 20),
		strings.Repeat("(", 400) + strings.Repeat(")", 400), strings.Repeat("(a?", 200) + strings.Repeat("){2}", 200), `^(.?){30}(a|b|c){30}$`, `^?0`,
	} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	f.Fuzz(func(t *testing.T, text string, whole bool) {
		start := time.Now()
		e, err := expression.Parse(text, whole)
		if err == nil {
			seen := map[string]bool{}
			for _, name := range e.Names() {
				if !e.Matches(name) || seen[name] || !strings.HasSuffix(name, e.Suffix()) {
					t.Errorf("%q stands for %q", text, name)
				}
				seen[name] = true
			}
			if e.Matches(strings.Repeat("a.", 100)) && !strings.HasSuffix(strings.Repeat("a.", 100), e.Suffix()) {
				t.Errorf("%q matches what does not end with %q", text, e.Suffix())
			}
			e.EveryHost()
		}
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("%q: it took %s", text, took)
		}
	})
}

func ExampleParse() {
	e, err := expression.Parse(`^(shop|cart)\.example\.(com|net)$`, false)
	fmt.Println(e.Names(), e.Wider(), err)
	// Output: [shop.example.com shop.example.net cart.example.com cart.example.net] false <nil>
}
