package psk

import "fmt"

// Alert is an alert's description (RFC 8446, 6).
type Alert uint8

// Alerts that are sent, or that mean something when they come.
const (
	alertCloseNotify       Alert = 0
	alertUnexpectedMessage Alert = 10
	alertBadRecordMAC      Alert = 20
	alertRecordOverflow    Alert = 22
	alertHandshakeFailure  Alert = 40
	alertIllegalParameter  Alert = 47
	alertDecodeError       Alert = 50
	alertDecryptError      Alert = 51
	alertProtocolVersion   Alert = 70
	alertInternalError     Alert = 80
	alertUserCanceled      Alert = 90
	alertMissingExtension  Alert = 109
	alertUnsupported       Alert = 110
)

var alertNames = map[Alert]string{
	alertCloseNotify: "close_notify", alertUnexpectedMessage: "unexpected_message", alertBadRecordMAC: "bad_record_mac",
	alertRecordOverflow: "record_overflow", alertHandshakeFailure: "handshake_failure",
	alertIllegalParameter: "illegal_parameter", alertDecodeError: "decode_error", alertDecryptError: "decrypt_error",
	alertProtocolVersion: "protocol_version", alertInternalError: "internal_error", alertUserCanceled: "user_canceled",
	alertMissingExtension: "missing_extension", alertUnsupported: "unsupported_extension",
}

func (a Alert) String() string {
	if s := alertNames[a]; s != "" {
		return s
	}
	return fmt.Sprintf("alert %d", uint8(a))
}

// Error is what a client did wrong. The connection cannot be used any more, and the
// client has been sent the alert if the socket took it.
type Error struct {
	Alert Alert
	What  string
}

func (e *Error) Error() string { return e.What }

// RemoteError is an alert from the client, which has ended the connection.
type RemoteError struct{ Alert Alert }

func (e *RemoteError) Error() string { return "client says: " + e.Alert.String() }

func wrong(a Alert, format string, args ...any) error {
	return &Error{Alert: a, What: fmt.Sprintf(format, args...)}
}
