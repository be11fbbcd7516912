"""Where other tools take Evenhand up: pytest, MLflow, scikit-learn.  Each file loads little before it is used."""
