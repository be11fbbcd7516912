"""Many runs: methods x data sets x protected columns x models x seeds, by whoever carries them out, resumable, all judged alike."""
