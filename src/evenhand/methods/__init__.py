"""Search methods: one file a published method, found by being here."""
