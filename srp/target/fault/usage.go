package fault

// Usage lists the rules for the help of command lines: four lines.
const Usage = `  Faults of requests: late=TIME delay=TIME ghost=TIME lose duplicate status=STATUS sense=KEY/ASC residual=BYTES
  Faults of channels: cred-req=N withhold=N aer=ASC[@LUN] logout=REASON disconnect
  Faults of logins:   reject=REASON cm-reject=N stale redirect credits=N iu-limit=N max-iu=N, and delay=TIME,op=login
  Conditions:         op=WHAT lun=N from=WHO p=X skip=N every=N times=N stubborn leak; seed=N stands alone
`
