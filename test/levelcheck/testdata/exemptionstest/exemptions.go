// Package exemptionstest has more exemptions than may be outside tests.
package exemptionstest

import "minisrp/verbs/dispatch"

func fills(f *dispatch.Frame, ch chan int) {
	//level:allow channel: has room
	ch <- 0
	//level:allow channel: has room
	ch <- 1
	//level:allow channel: has room
	ch <- 2
	//level:allow channel: has room
	ch <- 3
	//level:allow channel: has room
	ch <- 4
	//level:allow channel: has room
	ch <- 5
	//level:allow channel: has room
	ch <- 6
	//level:allow channel: has room
	ch <- 7
	//level:allow channel: has room
	ch <- 8
	//level:allow channel: has room
	ch <- 9
	//level:allow channel: has room
	ch <- 10
}
