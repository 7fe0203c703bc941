// Runs a command at another date.
module svc.dev/e2e/calendar/moved

go 1.26.0

require golang.org/x/sys v0.49.0
