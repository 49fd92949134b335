package main

// The image has no folder of certificates. Where the system has none, the roots
// that Mozilla trusts are taken from the binary.
import _ "golang.org/x/crypto/x509roots/fallback"
