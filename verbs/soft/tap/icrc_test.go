package tap

import (
	"encoding/hex"
	"strings"
	"testing"
)

// checkICRC tells whether the last four bytes of an IP packet are its ICRC, by the
// definition (annex A17.3.3, IBA 7.8.1), a bit at a time.
func checkICRC(p []byte) bool {
	n := 20
	if p[0]>>4 == 6 {
		n = 40
	}
	masked := append([]byte(strings.Repeat("\xff", 8)), p[:len(p)-4]...)
	mask := func(i int, bits byte) { masked[8+i] |= bits }
	if n == 20 {
		mask(1, 0xff)
		mask(8, 0xff)
		mask(10, 0xff)
		mask(11, 0xff)
	} else {
		mask(0, 0x0f)
		mask(1, 0xff)
		mask(2, 0xff)
		mask(3, 0xff)
		mask(7, 0xff)
	}
	mask(n+6, 0xff)
	mask(n+7, 0xff)
	mask(n+8+4, 0xff)
	crc := ^uint32(0)
	for _, b := range masked {
		for bit := range 8 {
			in := crc ^ uint32(b>>bit)&1
			crc >>= 1
			if in&1 != 0 {
				crc ^= 0xedb88320
			}
		}
	}
	crc = ^crc
	got := p[len(p)-4:]
	return uint32(got[0])|uint32(got[1])<<8|uint32(got[2])<<16|uint32(got[3])<<24 == crc
}

// icrcVectors are packets of a ConnectX-4 Lx (first) and of Linux rxe, from the IP
// header, but for the third, which has padding.
var icrcVectors = []string{
	"45c2003c718c4000401191610a0011010a00120100" + "0012b7002800008100ffff400001180000000000000000000000000000000000000000" + "82fd002a",
	"45000030aa66400040117b8e0a6200030a620002fc1712b7001c00001100ffff00000011003237e71f000001" + "bc5c6a03",
	"45000034000040004011b6b5c0000201c0000202c00012b7002000000430ffff00000011801234564142434445000000" + "23c19964",
	"4500003cbada400040116b0e0a6200020a620003fc1712b7002800000a00ffff00000011803237e700000000000000000000000000000000" + "90a47a55",
	"6000000000281140fd000098000000000000000000000002fd000098000000000000000000000001e34112b7002800000a00ffff001afb3f80076d0300000000000000000000000000000000" + "7b97518b",
}

func TestICRCOfOtherStacks(t *testing.T) {
	for i, v := range icrcVectors {
		p, err := hex.DecodeString(v)
		if err != nil {
			t.Fatal(err)
		}
		if !checkICRC(p) {
			t.Errorf("vector %d: the checker does not agree", i)
		}
		n := 20
		if p[0]>>4 == 6 {
			n = 40
		}
		body := p[:len(p)-4]
		c := icrc(body, n)
		if got := [4]byte{byte(c), byte(c >> 8), byte(c >> 16), byte(c >> 24)}; got != [4]byte(p[len(p)-4:]) {
			t.Errorf("vector %d: %x; want %x", i, got, p[len(p)-4:])
		}
		p[len(p)-5] ^= 1
		if checkICRC(p) {
			t.Errorf("vector %d: the checker takes a packet that was changed", i)
		}
	}
}
