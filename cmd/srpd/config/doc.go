// Package config reads the daemon's configuration files. It must not start or touch anything of what they name.
//
//	files → syntax → values against the tables of options → what options say of each other → Settings
//
// The files are in TOML: a main file and, in the directory beside it that is called like it with ".d" for ".toml", its
// drop-ins, which are read in the order of their names. A value of a later file replaces that of an earlier one; tables
// of a list ([[target]] and so on) are added to it.
//
// # Ownership
//
// Load reads and returns; nothing is kept.
//
// # Levels
//
// Load is Passive, the rest computes.
//
// # Errors
//
// Problems, all that there are at once, each with file, line, option and what would be right; for a file that cannot be
// read, the system's error. They have exit codes: Usage, NotFound, Denied.
//
// # Testing
//
// A table of wrong configurations, each with the line and the option that has to be named; every option of the package
// is in a file that is right. A fuzz test looks for panics.
//
// # Clauses
//
// TOML 1.0.0 (https://toml.io/en/v1.0.0).
package config
