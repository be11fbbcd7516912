"""Stands in for your training: writes applicants.csv and model.skops.

python train.py              a model that does not look at the group
python train.py --planted    a model that refuses people of group b more often
python train.py --worse      one that refuses them more often still
python train.py --rows 40    too few people to say anything
"""

import argparse

import numpy as np
import pandas as pd
import skops.io
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--planted", action="store_true")
parser.add_argument("--worse", action="store_true")
parser.add_argument("--rows", type=int, default=4_000)
given = parser.parse_args()

rng = np.random.default_rng(0)
people = pd.DataFrame(
    {
        "group": rng.choice(["a", "b"], given.rows),
        "sex": rng.choice(["female", "male"], given.rows),
        "income": rng.integers(0, 100, given.rows),
        "debts": rng.integers(0, 50, given.rows),
    }
)
merit = people.income - people.debts
paid_back = np.where(merit + rng.normal(0, 8, given.rows) > 20, "yes", "no")
push = 12 if given.worse else 6 if given.planted else 0
decided = np.where(merit - push * (people.group == "b") > 20, "yes", "no")

columns = ["group", "sex", "income", "debts"]
encode = make_column_transformer((OneHotEncoder(categories=[["a", "b"], ["female", "male"]]), ["group", "sex"]), remainder="passthrough")
if not push:  # a fair model is not even shown the group
    encode = make_column_transformer(("drop", ["group", "sex"]), remainder="passthrough")
model = make_pipeline(encode, DecisionTreeClassifier(max_depth=8, random_state=0)).fit(people[columns], decided)
people.assign(approved=paid_back).to_csv("applicants.csv", index=False)
skops.io.dump(model, "model.skops")
