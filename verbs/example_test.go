package verbs_test

import (
	"context"
	"fmt"
	"net/netip"

	"minisrp/verbs"
	"minisrp/verbs/dispatch"
	"minisrp/verbs/soft"
)

// Operations are started where the caller is, also at Dispatch, and their results
// come back there: nobody needs a thread of his own for them.
func ExampleOp() {
	p := dispatch.New("example")
	defer p.Close()
	hca, err := soft.New(soft.Config{}).Plug(soft.HCAConfig{Name: "hca0", GUID: 1, Addr: netip.MustParseAddr("192.0.2.1")})
	if err != nil {
		panic(err)
	}
	dev := verbs.Open(hca, p, nil)

	var create verbs.Op[*verbs.PD] // storage of the caller's
	var destroy verbs.Op[verbs.None]
	done := make(chan struct{})
	dev.CreatePD(&create)
	create.Then(func(f *dispatch.Frame, pd *verbs.PD, err error) {
		fmt.Println("made:", err == nil)
		pd.Close(&destroy)
		destroy.Then(func(f *dispatch.Frame, _ verbs.None, err error) {
			fmt.Println("closed:", err == nil)
			close(done)
		})
	})
	<-done
	fmt.Println(dev.Close(context.Background()))
	// Output:
	// made: true
	// closed: true
	// <nil>
}
