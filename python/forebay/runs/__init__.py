"""Many runs: jobs, their execution on all cores, finished ones on disk, statistics over seeds, progress."""
