package scsi

import (
	"fmt"
	"strings"
)

// ASC is an ADDITIONAL SENSE CODE (high byte) with its QUALIFIER (low byte).
type ASC uint16

// Codes that this module sends or acts on. All others have text too; see ASC.String.
const (
	ASCNone                     ASC = 0x0000
	ASCNotReadyUnknown          ASC = 0x0400 // logical unit not ready, cause not reportable
	ASCBecomingReady            ASC = 0x0401
	ASCNotReadyInitializing     ASC = 0x0402 // initializing command required
	ASCNotReadyManual           ASC = 0x0403 // manual intervention required
	ASCNotReadyFormat           ASC = 0x0404
	ASCNotReadyALUATransition   ASC = 0x040a
	ASCNotReadyStandby          ASC = 0x040b
	ASCNotReadyUnavailable      ASC = 0x040c
	ASCWriteError               ASC = 0x0c00
	ASCUnrecoveredRead          ASC = 0x1100
	ASCParameterListLength      ASC = 0x1a00
	ASCMiscompare               ASC = 0x1d00
	ASCInvalidOpcode            ASC = 0x2000
	ASCLBAOutOfRange            ASC = 0x2100
	ASCInvalidFieldInCDB        ASC = 0x2400
	ASCUnitNotSupported         ASC = 0x2500
	ASCInvalidFieldInParameters ASC = 0x2600
	ASCParameterValue           ASC = 0x2602
	ASCWriteProtected           ASC = 0x2700
	ASCSpaceAllocation          ASC = 0x2707 // thin provisioning: no space left
	ASCMediumMayHaveChanged     ASC = 0x2800
	ASCPowerOnReset             ASC = 0x2900
	ASCPowerOn                  ASC = 0x2901
	ASCBusReset                 ASC = 0x2902
	ASCTargetReset              ASC = 0x2903
	ASCInternalReset            ASC = 0x2904
	ASCNexusLoss                ASC = 0x2907
	ASCModeParametersChanged    ASC = 0x2a01
	ASCCapacityChanged          ASC = 0x2a09
	ASCCommandsCleared          ASC = 0x2f00
	ASCThinThreshold            ASC = 0x3807
	ASCMediumNotPresent         ASC = 0x3a00
	ASCOperatingConditions      ASC = 0x3f00
	ASCInquiryChanged           ASC = 0x3f03
	ASCReportedLUNsChanged      ASC = 0x3f0e
	ASCInternalTargetFailure    ASC = 0x4400
	ASCDataPhaseError           ASC = 0x4b00
	ASCOverlappedCommands       ASC = 0x4e00
	ASCInsufficientResources    ASC = 0x5503
	ASCLogicalUnitCommunication ASC = 0x0800
	ASCLogicalUnitCommTimeout   ASC = 0x0801
	ASCCommandTimeoutDuringProc ASC = 0x2e02
	ASCLogicalUnitFailure       ASC = 0x3e01
	ASCLogicalUnitNotConfigured ASC = 0x3e00
	ASCSystemResourceFailure    ASC = 0x5500
	ASCGuardCheck               ASC = 0x1001
	ASCApplicationTagCheck      ASC = 0x1002
	ASCReferenceTagCheck        ASC = 0x1003
)

// MakeASC joins an additional sense code and its qualifier.
func MakeASC(code, qualifier uint8) ASC { return ASC(code)<<8 | ASC(qualifier) }

// Code returns the additional sense code.
func (a ASC) Code() uint8 { return uint8(a >> 8) }

// Qualifier returns the additional sense code qualifier.
func (a ASC) Qualifier() uint8 { return uint8(a) }

var senseKeyNames = [16]string{
	"NO SENSE", "RECOVERED ERROR", "NOT READY", "MEDIUM ERROR", "HARDWARE ERROR", "ILLEGAL REQUEST",
	"UNIT ATTENTION", "DATA PROTECT", "BLANK CHECK", "VENDOR SPECIFIC", "COPY ABORTED", "ABORTED COMMAND",
	"EQUAL", "VOLUME OVERFLOW", "MISCOMPARE", "COMPLETED",
}

// String returns the standard's name of the key.
func (k SenseKey) String() string { return senseKeyNames[k&15] }

// String returns the sense data in one line: key, meaning of the additional code and the code itself, as
// in "MEDIUM ERROR: unrecovered read error (11/00)"; then what else it holds.
func (s Sense) String() string {
	var b strings.Builder
	if s.Deferred {
		b.WriteString("deferred ")
	}
	fmt.Fprintf(&b, "%s: %s (%02x/%02x)", s.Key, s.ASC, s.ASC.Code(), s.ASC.Qualifier())
	if s.InformationValid {
		fmt.Fprintf(&b, ", information 0x%x", s.Information)
	}
	if p, ok := s.FieldPointer(); ok {
		fmt.Fprintf(&b, ", %s", p)
	}
	if part, ok := s.Progress(); ok {
		fmt.Fprintf(&b, ", %d%% done", uint32(part)*100/65536)
	}
	return b.String()
}

// String returns where the field is, as in "byte 2 bit 5 of the CDB".
func (p FieldPointer) String() string {
	where := "CDB"
	if p.Data {
		where = "parameter data"
	}
	if p.Bit < 0 {
		return fmt.Sprintf("byte %d of the %s", p.Byte, where)
	}
	return fmt.Sprintf("byte %d bit %d of the %s", p.Byte, p.Bit, where)
}
