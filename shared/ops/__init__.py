"""What every process of the house needs to run: settings, logs, metrics, migrations, lifecycle."""
