"""Many runs: methods x data sets x protected columns x models x seeds, in local processes, resumable, all judged alike."""
