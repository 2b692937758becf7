// SPDX-License-Identifier: Apache-2.0
// The user's own timer that runs `stoker controller --once` every minute: a systemd user timer
// where there is a user manager, else a line in the user's crontab.
#pragma once

#include "base/status.h"
#include "client/open/client.h"

namespace stoker::client {

// Whether a timer would run here: a systemd user manager, or crontab and a cron that runs. Starts
// no process.
bool TimerPossible();

// Harmless to repeat. Where neither is there: kInvalid, with the line to give to another scheduler.
// Says which kind it set up.
Status InstallTimer(Client& client);
Status UninstallTimer(Client& client);

}  // namespace stoker::client
