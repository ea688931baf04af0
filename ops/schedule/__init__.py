"""Jobs for the machine's scheduler: launchd, systemd or cron."""
