package manifests

import (
	"strings"
	"testing"
)

// oddLists are lists whose items are not where a glance at the lines would have
// them, and such as only look odd.
var oddLists = []string{
	"kind: List\nitems:\n- a\n- b\n",
	"items:\n- a: 1\n  b: [x, y]\n- - c\n  - d\n-\n- {}\nkind: List\nmetadata: {}\n",
	"---\n# top\nitems: # all\n\n  # first\n  - a\n  # second\n  -\n    b: 1\n\n# last\nkind: List\n",
	"items:\n- \"x\n- y\"\n- z\n",
	"items:\n- 'x\n- y'\n- 'z'\nkind: 'a\n  b'\n",
	"items:\n- [x,\n- y]\n",
	"items:\n- {a: x,\n- b: y}\n",
	"items:\n- |\n  x\n  - y\n\n- >+\n  z\n\n\nkind: List\n",
	"items:\n  - |1\n    - x\n  - a\n   - b\n",
	"items:\n- x\n - y\n- z\n  - w\n",
	"items:\n- a\nitems:\n- b\n",
	"items:\n- a\n\"items\": [b]\nkind: List\n",
	"x: \"\nitems:\n- a\n- b\n\"\nitems: [c]\n",
	"x: [\nitems:\n- a\n- b\n]\n",
	"x: 'it is\nitems:\n- a'\nitems:\n- ' b'\n",
	"a: |\n x\nitems:\n- y\n",
	"a:\nitems:\n- y\nb:\n- z\n",
	"a\nitems:\n- y\n",
	"- a\nitems:\n- y\n",
	"  a: 1\nitems:\n- y\n",
	"? a\nitems:\n- y\n: z\n",
	"a: &x\nitems:\n- *x\n- &x 1\n- *x\n",
	"a: &x 1\nitems:\n- &x 2\nkind: *x\n",
	"a: &x {b: 1}\nitems:\n- &x {b: 2}\n<<: *x\n",
	"{\n  a: &x 1,\n  items: [{\n    b: &x 2,\n  }],\n  kind: *x,\n}\n",
	"items:\n- a\n%YAML 1.1\n- b\n",
	"items:\n- a\nkind: List\n%TAG ! x\n]]",
	"items:\n- a: 1\n  a: 2\n",
	"items:\n- {a: &x [1], b: *x, <<: {c: 1}}\n- {<<: &y {d: 2}, e: *y}\n",
	"<<: {items: [z]}\nitems:\n- y\n",
	"items:\n  - a\n - b\n",
	"items:\n  - a\nkind: List\n- b\n",
	"items:\n  - a\n- b\n",
	"items:\n- a\n-",
	"items:\n- a\n- b: c: d\n",
	"%TAG !! tag:example.com,2000:\n---\nitems:\n- !!str 7\n",
	"items:\n- !!str 7\n- !!binary AA==\n- 0o7\n- 1e3\n- 2001-01-01\n- ~\n- yes\n",
	"items:\n- <&>\n- \"\\u2028\"\n- *\n",
	"items:\r\n- a\r\n- b\r\nkind: List\r\n",
	"items:\n-\ta\n- b\n\t\n- c\n",
	"items:\n\t- a\n",
	"items:\n- a\n\ufeff- b\n- c\n",
	"items:#\n- a\n",
	"items:\n# nothing\nkind: List\n",
	"---\n{\n  items: [{\n    a: 1,\n  }, {\n    b: [{\n      c: 1,\n    }, {\n      d: 1,\n    }],\n  }],\n  kind: \"List\",\n}\n",
	"{\n  items: [{\n    a: [{\n  }, {\n  }],\n  }, {\n  }],\n}\n",
	"{\n  items: [{\n    a: \"\n  }, {\n  }],\n  \",\n  }],\n}\n",
	"{\n  items: [{\n    a: 1 }, { b: 1\n  }, {\n    c: 1\n  }],\n}\n",
	"{\n  items: [{\n    a: '\n  }, {\n    b: '\n  }, {\n    c: 1\n  }],\n}\n",
	"{\n  items: [{ # }, {\n    a: 1 # '\n  }, { # \"\n    c: \"1\"\n  }], # '\n}\n",
	"{\n  x: \"\n  items: [{\n  }],\n\", items: [],\n}\n",
	"{\n  items: [{\n}]\n  }]}\n",
	"{\n  items: [{\n},{}]\n  }]}\n",
	"{\n  items: [{\n}], x: [{\n  }]}\n",
	"{\n  items: [{\n  }, {\n  }}, {\n  }]}\n",
	"{\n  x: {\n  items: [{\n  }],\n}, items: [],\n}\n",
	"{\n  items: [],\n  items: [{\n  }],\n  items: [],\n}\n",
	"- {\n  items: [{\n  }],\n}\n",
	"x:\n  items: [{\n  }, {\n  }]\n",
	"items: [{\n}, {\n}]\n",
	"items: [{\n}, {\n}]\nitems: 7\n",
	"items: [{\n}, {\n}]: 1\n",
	"{\n  items: [{\n  }, {\n  }]: 1,\n}\n",
	"{\n  items: [{\n  }: 1, {\n  }],\n}\n",
	"{\n  items: [{\n  }, {\n  }: 1, {\n  }],\n}\n",
	"items:\n- {.0, 0: 1}\n",
}

// Parsed item by item, a list is what it is as a whole.
func FuzzParseList(f *testing.F) {
	for _, seed := range oddLists {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, document []byte) {
		if _, err := parseList(document); err != nil {
			return // and it is parsed as a whole
		}
		var got, want string
		// Of keys that are the same in JSON, such as 0 and 0.0, the parser keeps any.
		for range 100 {
			v, err := parseList(document)
			if err != nil {
				t.Fatalf("it can be parsed once: %v", err)
			}
			whole, err := parseTree(document)
			switch {
			// Of many aliases those in one item alone may be few.
			case err != nil && strings.Contains(err.Error(), "alias"):
				return
			case err != nil:
				t.Fatalf("it cannot be parsed as a whole: %v", err)
			}
			if got, want = string(v.whole()), string(whole); got == want {
				return
			}
		}
		t.Errorf("item by item it is\n%s\nas a whole\n%s", got, want)
	})
}

// What kubectl and people write is not left to be parsed as a whole.
func TestParseListTakesTheCommonForms(t *testing.T) {
	for _, c := range []struct {
		name, in string
		items    int
	}{
		{"as kubectl prints it", "apiVersion: v1\nitems:\n- a: 1\n  b: 2\n- c\nkind: List\nmetadata:\n  resourceVersion: \"\"\n", 2},
		{"with indented items", "apiVersion: v1\nkind: List\nitems:\n  - a: 1\n    b: 2\n  - c\n", 2},
		{"behind a marker and comments", "# x\n---\n# y\nkind: List\nitems: # all\n# first\n- a\n\n# second\n- b\n", 2},
		{"with the line ends of Windows", "items:\r\n- a\r\n- b\r\nkind: List\r\n", 2},
		{"with aliases inside of items", "items:\n- {a: &x 1, b: *x}\n- {a: &x 2, b: *x}\n", 2},
		{"with stars and ampersands in texts", "items:\n- '*.example.com'\n- a&b\n", 2},
		{"with lists in items", "items:\n- - a\n  - b\n-\n  - c\n", 2},
		{"as kubectl prints KYAML", "---\n{\n  apiVersion: \"v1\",\n  items: [{\n    a: [{\n      b: 1,\n    }, {\n    }],\n  }, {\n    c: \"\\\n       }, {\\n\\\n      \",\n  }],\n  kind: \"List\",\n}\n", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, err := parseList([]byte(c.in))
			if err != nil {
				t.Fatal(err)
			}
			if v.items.texts != c.items {
				t.Errorf("%d items, want %d", v.items.texts, c.items)
			}
		})
	}
}
