package srp_test

import (
	"errors"
	"fmt"

	"minisrp/srp"
)

// A read of 8 blocks into one piece of registered memory, as an initiator sends it.
func ExampleCommand_Encode() {
	buf := make([]byte, 276) // a send buffer of the length that the login agreed on
	cmd := srp.Command{
		Tag:    0x17,
		CDB:    []byte{0x28, 0, 0, 0, 0, 0x10, 0, 0, 8, 0}, // READ(10)
		DataIn: srp.DirectBuffer(srp.Desc{Addr: 0x7f0000001000, RKey: 0x8204, Len: 4096}),
	}
	n, err := cmd.Encode(buf, 0)
	fmt.Println(n, err)
	fmt.Printf("% x\n", buf[48:n])
	// Output:
	// 64 <nil>
	// 00 00 7f 00 00 00 10 00 00 00 82 04 00 00 10 00
}

// A target looks at where the data of a write is to come from.
func ExampleCommand_Decode() {
	table := make(srp.DescList, 0, 2*srp.DescLen)
	table, _ = table.Append(srp.Desc{Addr: 0x1000, RKey: 9, Len: 512})
	table, _ = table.Append(srp.Desc{Addr: 0x8000, RKey: 9, Len: 3584})
	sent := srp.Command{
		CDB:     []byte{0x2a, 0, 0, 0, 0, 0, 0, 0, 8, 0}, // WRITE(10)
		DataOut: srp.IndirectBuffer(srp.Desc{Addr: 0x40000, RKey: 9, Len: 2 * srp.DescLen}, table, 4096),
	}
	buf := make([]byte, 276)
	n, _ := sent.Encode(buf, 0)

	var cmd srp.Command
	if err := cmd.Decode(buf[:n], 0); err != nil {
		fmt.Println(err)
		return
	}
	out := &cmd.DataOut
	fmt.Println(out.Format, out.Length, "bytes, complete:", out.Complete())
	for i := range out.List.Len() {
		fmt.Printf("%+v\n", out.List.At(i))
	}
	// Output:
	// indirect 4096 bytes, complete: true
	// {Addr:4096 RKey:9 Len:512}
	// {Addr:32768 RKey:9 Len:3584}
}

// A target answers a task management function that it does not have.
func ExampleResponse_SetResponseCode() {
	buf := make([]byte, 256)
	rsp := srp.Response{RequestLimitDelta: 1, Tag: 0x80000001}
	rsp.SetResponseCode(srp.ResponseNotSupported)
	n, _ := rsp.Encode(buf)

	var got srp.Response
	if err := got.Decode(buf[:n]); err != nil {
		fmt.Println(err)
		return
	}
	code, _ := got.ResponseCode()
	fmt.Println(n, "bytes:", code)
	// Output:
	// 40 bytes: 4: task management function not supported
}

// What was received says which decoder is next; what is wrong with it comes as an error with numbers.
func ExampleFormatError() {
	received := make([]byte, 36)
	received[0], received[18], received[31] = 0xc1, 0x02, 18 // SRP_RSP with 18 bytes of sense data, which are not there

	op, _, _ := srp.Peek(received)
	var rsp srp.Response
	err := rsp.Decode(received)
	fmt.Println(op)
	fmt.Println(err)
	fmt.Println(errors.Is(err, srp.ErrFormat))
	// Output:
	// SRP_RSP
	// srp: SRP_RSP: sense data list length is 18, must be at most 0
	// true
}

func ExampleRejectReason() {
	fmt.Println(srp.RejectNoMultiChannel)
	fmt.Println(srp.RejectNoMultiChannel.Advice())
	// Output:
	// 0x00010005: target port does not support multiple RDMA channels per I_T nexus
	// log in with one channel (ch_count=1)
}

func ExampleIOClass_PortID() {
	const idExt, iocGUID = 0x200500a0b81146a1, 0x0002c90200402bd4
	fmt.Println(srp.IOClassR16a.PortID(idExt, iocGUID))
	fmt.Println(srp.IOClassR10.PortID(idExt, iocGUID))
	// Output:
	// 0x200500a0b81146a10002c90200402bd4
	// 0x0002c90200402bd4200500a0b81146a1
}

// A table of descriptors is made in the memory that it will travel from.
func ExampleDescList_Append() {
	memory := make([]byte, 2*srp.DescLen)
	list, ok := srp.DescList(memory[:0]), true
	for page := uint64(0); ok; page++ {
		list, ok = list.Append(srp.Desc{Addr: page << 12, RKey: 1, Len: 4096})
	}
	fmt.Println(list.Len(), "descriptors,", list.Total(), "bytes")
	// Output:
	// 2 descriptors, 8192 bytes
}
