"""Media that only a study looks through: pictures under a disturbance, pictures by themselves."""
