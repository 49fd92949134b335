// Package redteam attacks the program as a tenant would, who may write anything in one
// namespace: it steals the hosts of others and opens its own namespace, in every disguise
// that is known, and holds that nothing of this goes unseen and that nobody else is
// affected.
package redteam
