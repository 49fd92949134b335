package fakeslack

import (
	"bytes"
	"encoding/json"
	"fmt"
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

// block judges one block. Types that are not listed are refused even where Slack
// knows them, for nothing here can judge them.
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

// blockHead is what every block has.
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
		return invalid("a header has a plain_text")
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
		return invalid("a section has text or fields")
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
		if p := c.server.checkMarkup(t.Text); p != nil {
			return p
		}
	}
	return checkVisible(t.Text)
}

// strict decodes JSON and refuses what the struct does not have.
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
