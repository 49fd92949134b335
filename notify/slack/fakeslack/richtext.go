package fakeslack

import (
	"encoding/json"
	"slices"
	"unicode/utf8"
)

// richText judges a rich_text block. Its text is shown as it is, and mentions
// and links are elements of their own.
func (c *checker) richText(raw json.RawMessage) *problem {
	var b struct {
		blockHead
		Elements []json.RawMessage `json:"elements"`
	}
	if p := strict(raw, &b); p != nil {
		return p
	}
	if len(b.Elements) == 0 {
		return invalid("a rich_text has no elements")
	}
	for _, e := range b.Elements {
		if p := c.richPart(e, "rich_text_section", "rich_text_list", "rich_text_quote", "rich_text_preformatted"); p != nil {
			return p
		}
	}
	return nil
}

// richPart judges an element that holds others.
func (c *checker) richPart(raw json.RawMessage, types ...string) *problem {
	var part struct {
		Type     string            `json:"type"`
		Elements []json.RawMessage `json:"elements"`
		Style    string            `json:"style"`
		Indent   int               `json:"indent"`
		Border   int               `json:"border"`
		Offset   int               `json:"offset"`
		Language string            `json:"language"`
	}
	if p := strict(raw, &part); p != nil {
		return p
	}
	list := part.Type == "rich_text_list"
	switch {
	case !slices.Contains(types, part.Type):
		return invalid("a %q stands where one of %q may", part.Type, types)
	case len(part.Elements) == 0:
		return invalid("a %s has no elements", part.Type)
	case list != (part.Style == "bullet" || part.Style == "ordered"):
		return invalid("a %s has the style %q", part.Type, part.Style)
	case !list && (part.Indent != 0 || part.Offset != 0), part.Indent < 0 || part.Indent > 8, part.Border < 0 || part.Border > 1, part.Offset < 0:
		return invalid("a %s has indent %d, border %d, offset %d", part.Type, part.Indent, part.Border, part.Offset)
	case part.Language != "" && part.Type != "rich_text_preformatted":
		return invalid("a %s has a language", part.Type)
	}
	for _, e := range part.Elements {
		var p *problem
		if list {
			p = c.richPart(e, "rich_text_section")
		} else {
			p = c.richLeaf(e, part.Type == "rich_text_preformatted")
		}
		if p != nil {
			return p
		}
	}
	return nil
}

// richLeaf judges an element that holds text, or that calls or links somebody.
func (c *checker) richLeaf(raw json.RawMessage, preformatted bool) *problem {
	var leaf struct {
		Type        string          `json:"type"`
		Text        string          `json:"text"`
		Name        string          `json:"name"`    // emoji
		Unicode     string          `json:"unicode"` // emoji
		UserID      string          `json:"user_id"`
		UsergroupID string          `json:"usergroup_id"`
		Range       string          `json:"range"` // broadcast
		URL         string          `json:"url"`
		Style       map[string]bool `json:"style"`
	}
	if p := strict(raw, &leaf); p != nil {
		return p
	}
	for style := range leaf.Style {
		if !slices.Contains([]string{"bold", "italic", "strike", "code"}, style) {
			return invalid("a %s has the style %q", leaf.Type, style)
		}
	}
	c.characters += utf8.RuneCountInString(leaf.Text) + utf8.RuneCountInString(leaf.URL)
	sequence := ""
	switch {
	case leaf.Type == "text" && leaf.Text != "":
		return checkVisible(leaf.Text)
	case preformatted:
		return invalid("a %s stands in preformatted text", leaf.Type)
	case leaf.Type == "emoji" && leaf.Name != "":
		return nil
	case leaf.Type == "user" && leaf.UserID != "":
		sequence = "<@" + leaf.UserID + ">"
	case leaf.Type == "usergroup" && leaf.UsergroupID != "":
		sequence = "<!subteam^" + leaf.UsergroupID + ">"
	case leaf.Type == "broadcast" && slices.Contains([]string{"here", "channel", "everyone"}, leaf.Range):
		sequence = "<!" + leaf.Range + ">"
	case leaf.Type == "link" && leaf.URL != "" && leaf.Text != "":
		sequence = "<" + leaf.URL + "|" + leaf.Text + ">"
	default:
		return invalid("element %s is unknown or empty", raw)
	}
	if !slices.Contains(c.server.config.Allowed, sequence) {
		return &problem{"fakeslack_control_sequence", "the element " + sequence + " is not allowed"}
	}
	return nil
}
