package report

import "github.com/eventuallytrue/audit/audit"

// This file lends the contract to others who tell programs of findings.

// FromRecord returns a finding that is kept as programs read it. It shares no
// list with the record.
func FromRecord(r audit.Record) StoredFinding { return fromRecord(r) }

// EncodeJSON returns a document as indented JSON that is harmless on a terminal
// too. Bytes that are no UTF-8 become U+FFFD.
func EncodeJSON(document any) ([]byte, error) { return encodeJSON(document) }
