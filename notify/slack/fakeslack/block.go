package fakeslack

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"
)

// The limits of blocks, from Slack's reference of Block Kit.
const (
	maxHeader      = 150
	maxSection     = 3000
	maxField       = 2000
	maxFields      = 10
	maxContext     = 10
	maxBlockID     = 255
	maxContextText = 3000
)

// block checks one block. Types that it does not know are rejected, even if Slack accepts
// them.
func (c *checker) block(raw json.RawMessage) *problem {
	var head struct {
		Type string `json:"type"`
		ID   string `json:"block_id"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return invalid("%v", err)
	}
	if utf8.RuneCountInString(head.ID) > maxBlockID || head.ID != "" && c.ids[head.ID] {
		return invalid("block_id %q is too long or used twice", head.ID)
	}
	c.ids[head.ID] = true
	switch head.Type {
	case "header":
		return c.header(raw)
	case "section":
		return c.section(raw)
	case "context":
		return c.context(raw)
	case "divider":
		return strict(raw, &struct{ blockHead }{})
	case "rich_text":
		return c.richText(raw)
	}
	return invalid("type %q is unknown", head.Type)
}

// blockHead has the fields of every block.
type blockHead struct {
	Type string `json:"type"`
	ID   string `json:"block_id"`
}

func (c *checker) header(raw json.RawMessage) *problem {
	var b struct {
		blockHead
		Text *text `json:"text"`
	}
	if p := strict(raw, &b); p != nil {
		return p
	}
	if b.Text == nil || b.Text.Type != "plain_text" {
		return invalid("a header needs a plain_text")
	}
	return c.text(b.Text, maxHeader)
}

func (c *checker) section(raw json.RawMessage) *problem {
	var b struct {
		blockHead
		Text   *text  `json:"text"`
		Fields []text `json:"fields"`
		Expand bool   `json:"expand"`
	}
	if p := strict(raw, &b); p != nil {
		return p
	}
	if b.Text == nil && len(b.Fields) == 0 {
		return invalid("a section needs text or fields")
	}
	if len(b.Fields) > maxFields {
		return invalid("a section has %d fields", len(b.Fields))
	}
	if b.Text != nil {
		if p := c.text(b.Text, maxSection); p != nil {
			return p
		}
	}
	for i := range b.Fields {
		if p := c.text(&b.Fields[i], maxField); p != nil {
			return p
		}
	}
	return nil
}

func (c *checker) context(raw json.RawMessage) *problem {
	var b struct {
		blockHead
		Elements []text `json:"elements"`
	}
	if p := strict(raw, &b); p != nil {
		return p
	}
	if len(b.Elements) == 0 || len(b.Elements) > maxContext {
		return invalid("a context has %d elements", len(b.Elements))
	}
	for i := range b.Elements {
		if p := c.text(&b.Elements[i], maxContextText); p != nil {
			return p
		}
	}
	return nil
}

// text is a text object.
type text struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Emoji    *bool  `json:"emoji"`
	Verbatim *bool  `json:"verbatim"`
}

func (c *checker) text(t *text, most int) *problem {
	n := utf8.RuneCountInString(t.Text)
	c.characters += n
	switch {
	case t.Type != "plain_text" && t.Type != "mrkdwn":
		return invalid("a text has the type %q", t.Type)
	case n == 0 || n > most:
		return invalid("a text of at most %d characters has %d", most, n)
	case t.Type == "mrkdwn" && t.Emoji != nil:
		return invalid("emoji is only for plain_text")
	case t.Type == "plain_text" && t.Verbatim != nil:
		return invalid("verbatim is only for mrkdwn")
	}
	if t.Type == "mrkdwn" {
		if p := checkMarkup(t.Text, c.allowed); p != nil {
			return p
		}
	}
	return checkVisible(t.Text)
}

// strict decodes JSON and rejects unknown fields.
func strict(raw json.RawMessage, into any) *problem {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return invalid("%v", err)
	}
	return nil
}

func invalid(format string, args ...any) *problem {
	return &problem{"invalid_blocks", fmt.Sprintf(format, args...)}
}

// richText checks a rich_text block. Its text is shown verbatim; mentions and links are
// elements of their own.
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

// richPart checks an element that contains others.
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
		return invalid("found a %q, want one of %q", part.Type, types)
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

// richLeaf checks an element with text, a mention or a link.
func (c *checker) richLeaf(raw json.RawMessage, preformatted bool) *problem {
	var leaf struct {
		Type        string          `json:"type"`
		Text        string          `json:"text"`
		Name        string          `json:"name"`    // emoji
		Unicode     string          `json:"unicode"` // emoji
		UserID      string          `json:"user_id"`
		UsergroupID string          `json:"usergroup_id"`
		Range       string          `json:"range"` // broadcast
		ChannelID   string          `json:"channel_id"`
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
		return invalid("preformatted text contains a %s", leaf.Type)
	case leaf.Type == "emoji" && leaf.Name != "":
		return nil
	case leaf.Type == "user" && leaf.UserID != "":
		sequence = "<@" + leaf.UserID + ">"
	case leaf.Type == "usergroup" && leaf.UsergroupID != "":
		sequence = "<!subteam^" + leaf.UsergroupID + ">"
	case leaf.Type == "channel" && leaf.ChannelID != "":
		if _, ok := c.channels[leaf.ChannelID]; ok {
			return nil // it calls nobody, and no text can forge an element
		}
		sequence = "<#" + leaf.ChannelID + ">"
	case leaf.Type == "broadcast" && slices.Contains([]string{"here", "channel", "everyone"}, leaf.Range):
		sequence = "<!" + leaf.Range + ">"
	case leaf.Type == "link" && leaf.URL != "" && leaf.Text != "":
		sequence = "<" + leaf.URL + "|" + leaf.Text + ">"
	default:
		return invalid("element %s is unknown or empty", raw)
	}
	if !slices.Contains(c.allowed, sequence) {
		return &problem{"fakeslack_control_sequence", "the element " + sequence + " is not allowed"}
	}
	return nil
}
