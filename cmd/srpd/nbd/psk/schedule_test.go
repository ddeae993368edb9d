package psk

import (
	"bytes"
	"crypto/sha256"
	"testing"
)

// helloRFC8448 is the ClientHello of RFC 8448, section 4, up to its binders.
const helloRFC8448 = "010001fc03031bc3ceb6bbe39cff938355b5a50adb6db21b7a6af649d7b4bc419d7876487d95000006130113031302010001cd0000000b" +
	"0009000006736572766572ff01000100000a00140012001d00170018001901000101010201030104003300260024001d0020e4ffb68ac0" +
	"5f8d96c99da26698346c6be16482badddafe051a66b4f18d668f0b002a0000002b0003020304000d0020001e0403050306030203080408" +
	"05080604010501060102010402050206020202002d00020101001c00024001001500570000000000000000000000000000000000000000" +
	"00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000" +
	"000000000000000000000000002900dd00b800b22c035d829359ee5ff7af4ec900000000262a6494dc486d2c8a34cb33fa90bf1b0070ad" +
	"3c498883c9367c09a2be785abc55cd226097a3a982117283f82a03a143efd3ff5dd36d64e861be7fd61d2827db279cce145077d454a366" +
	"4d4e6da4d29ee03725a6a4dafcd0fc67d2aea70529513e3da2677fa5906c5b3f7d8f92f228bda40dda721470f9fbf297b5aea617646fac" +
	"5c03272e970727c621a79141ef5f7de6505e5bfbc388e93343694093934ae4d357fad6aacb"

const binderRFC8448 = "3add4fb2d8fdf822a0ca3cf7678ef5e88dae990141c5924d57bb6fa31b9e5f9d"

func same(t *testing.T, what string, got []byte, want string) {
	t.Helper()
	if !bytes.Equal(got, unhex(t, want)) {
		t.Errorf("%s is %x, want %s", what, got, want)
	}
}

// RFC 8448, section 4: a key, its ClientHello, and the binder. The key is of a ticket there.
func TestBinder(t *testing.T) {
	early := extract(zeros, unhex(t, "4ecd0eb6ec3b4d87f5d6028f922ca4c5851a277fd41311c9e62d2c9492e1c4f3"))
	same(t, "early secret", early, "9b2188e9b2fc6d64d71dc329900e20bb41915000f678aa839cbb797cb7d8332c")
	key := early.derive("res binder", emptyHash[:])
	same(t, "binder key", key, "69fe131a3bbad5d63c64eebcc30e395b9d8107726a13d074e389dbc8a4e47256")
	same(t, "finished key", key.expand("finished", nil, hashSize), "5588673e72cb59c87d220caffe94f2dea9a3b1609f7d50e90a48227db9ed7eaa")
	msg := unhex(t, helloRFC8448+"002120"+binderRFC8448)
	h, err := parseHello(msg)
	if err != nil {
		t.Fatal(err)
	}
	partial := sha256.Sum256(msg[:len(msg)-h.bindersSize()])
	same(t, "hash of the hello", partial[:], "63224b2e4573f2d3454ca84b9d009a04f6be9e05711a8396473aefa01e924a14")
	same(t, "binder", binder(early, "res binder", partial[:]), binderRFC8448)
	if !bytes.Equal(h.binders[0], unhex(t, binderRFC8448)) || len(h.identities) != 1 || !h.early || len(h.groups) != 9 ||
		len(h.suites) != 3 || len(h.shares) != 1 || h.shares[0].group != 29 || !bytes.Equal(h.modes, []byte{1}) {
		t.Errorf("the hello is decoded as %+v", h)
	}
}

// RFC 8448, section 3: from the shared secret to the keys of both directions, without a pre-shared key.
func TestSchedule(t *testing.T) {
	hs := extract(zeros, zeros).next(unhex(t, "8bd4054fb55b9d63fdfbacf9f04b9f0d35e6d63f537563efd46272900f89492d"))
	same(t, "handshake secret", hs, "1dc826e93606aa6fdc0aadc12f741b01046aa6b99f691ed221a9f0ca043fbeac")
	said := unhex(t, "860c06edc07858ee8e78f0e7428c58edd6b43f2ca3e6e95f02ed063cf0e1cad8")
	same(t, "client's", hs.derive("c hs traffic", said), "b3eddb126e067f35a780b3abf45e2d8f3b1a950738f52e9600746a0e27a55a21")
	server := hs.derive("s hs traffic", said)
	same(t, "server's", server, "b67b7d690cc16c4e75e54213cb2d37b4e9c912bcded9105d42befd59d391ad38")
	same(t, "key", server.expand("key", nil, keySize), "3fce516009c21727d0f2e4e86ee403bc")
	var d direction
	d.set(server)
	same(t, "iv", d.iv[:], "5d313eb2671276ee13000b30")
	d.count()
	same(t, "second nonce", d.count(), "5d313eb2671276ee13000b31")
	master := hs.next(zeros)
	same(t, "master secret", master, "18df06843d13a08bf2a449844c5f8a478001bc4d4c627984d5a41da8d0402919")
	said = unhex(t, "9608102a0f1ccc6db6250b7b7e417b1a000eaada3daae4777a7686c9ff83df13")
	client := master.derive("c ap traffic", said)
	same(t, "client's", client, "9e40646ce79a7f9dc05af8889bce6552875afa0b06df0087f792ebb7c17504a5")
	same(t, "server's", master.derive("s ap traffic", said), "a11af9f05531f856ad47116b45a950328204b4f44bfb6b3a4b4f1f3fcb631643")
	same(t, "key", client.expand("key", nil, keySize), "17422dda596ed5d9acd890e3c63f5051")
	d.set(client)
	same(t, "iv", d.iv[:], "5b78923dee08579033e523d9")
}

// The same with a pre-shared key, by NIST's ACVP server (TLS-v1.3-KDF-RFC8446).
func TestScheduleACVP(t *testing.T) {
	var said []byte
	hash := func(more string) []byte {
		said = append(said, unhex(t, more)...)
		h := sha256.Sum256(said)
		return h[:]
	}
	hs := extract(zeros, unhex(t, "56288b726c73829f7a3e47b103837c8139acf552e7530c7a710b35ed41191698")).
		next(unhex(t, "effe9ec26aa29fd750dfa6a10b944d74071595b27ee88887d5e11c84590b5cc3"))
	hash("e9137679e582ba7c1db41cf725f86c6d09c8c05f297bad9a65b552eaf524fde4")
	th := hash("23eccfd030790748c8f8d8a656fd98d717f1b62af3712f97211d2070b499f98a")
	same(t, "client's", hs.derive("c hs traffic", th), "b32306c3ce9932c460a1fe6c0f060593974842036b96fa45049b7352e71c2ad2")
	same(t, "server's", hs.derive("s hs traffic", th), "22787f8ca269d34bc549ac8ba19f2040938a3aa370d7cc9d60f720882b88d01b")
	master := hs.next(zeros)
	th = hash("c750eda6696cd101b142bd79e00e6ac8c5f2c0abc78dd64f4d991326659e9299")
	same(t, "client's", master.derive("c ap traffic", th), "47d7ea08397b5871154b0fe85584bcc30a87c69e84d69b56007c5b21f76493ba")
	same(t, "server's", master.derive("s ap traffic", th), "efbdb0c873c0480da57307083839a8984be25b9a8545e4fca029940fe2800565")
}
