// Package fio has fio load an NBD export, and reads what it says. It must not start the server.
//
// # Levels
//
// Passive.
//
// # Errors
//
// fio's own, with what it printed; a job that ended with an error although fio did not say so.
//
// # Testing
//
// What fio 3.33 printed is in testdata; the whole is run by the tests of bench.
//
// # Clauses
//
// fio(1), --output-format=json.
package fio
