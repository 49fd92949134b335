package config

// Webhook says where digests are sent to for chat and ticket systems of any
// sort. The zero value is nowhere.
type Webhook struct {
	URL URL `yaml:"url"`
	// SecretFile is the path of the file that holds the key by which each
	// message is signed. It is there whenever URL is.
	SecretFile string `yaml:"secretFile"`
}
