package srp

import (
	"context"
	"errors"
)

// Login makes a session: it connects and logs in the first channel, and as many of the others as the target allows.
// What a target refuses but could take otherwise (the IU length, immediate data, indirect descriptors, several
// channels) is asked for in a smaller way. It ends by ctx or SessionConfig.LoginTimeout, and leaves nothing behind when
// it fails.
//
// Errors: *RejectError when the target refuses; verbs.ErrNoRoute, verbs.ErrTimeout and others of verbs from the
// connection; ErrLoginResponse; ErrInvalidConfig; ctx's.
func Login(ctx context.Context, cfg *SessionConfig) (*Session, error) {
	return nil, errors.ErrUnsupported
}

// Logout ends the session: nothing new is taken, what is outstanding may end, for SessionConfig.LogoutTimeout at most,
// then each channel sends SRP_I_LOGOUT and disconnects; what is still outstanding ends with ChannelDown. When it returns
// nil no callback comes any more and nothing is left. When ctx ends first its error is returned; then the closing goes
// on behind.
func (s *Session) Logout(ctx context.Context) error { return nil }
