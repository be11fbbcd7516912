"""Systems under test: functions, detectors from files, PyTorch modules, and paid services."""
