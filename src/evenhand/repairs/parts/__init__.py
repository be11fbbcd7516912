"""What several repairs share: the case, the labels of findings, the choice of findings, fitting again."""
