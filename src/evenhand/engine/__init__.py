"""One search from its header to its findings: the conversation with a method, the court that judges, the store, the witnesses."""
