// Command bench measures minisrp beside a bare model of its work and beside other programs, and says whether that is as fast as
// it must be.
//
// bench run measures and writes result.json and report.html; bench report makes the page again from a result; bench
// compare puts two results side by side.
package main
