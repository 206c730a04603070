"""What scikit-learn makes of the data of scikit_learn.rs: writes scikit_learn.json beside this file.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install scikit-learn
    /tmp/venv/bin/python crates/learn/tests/learn/scikit_learn.py

Neither Python nor scikit-learn is needed to build or test.
"""

import json
import pathlib

import numpy
import sklearn
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.preprocessing import StandardScaler

SAMPLES, TO_TRAIN, PENALTY = 4000, 3000, 1e-4


def split_mix(seed):
    """SplitMix64, as crates/placement/src/rng.rs has it, as numbers in [0, 1)."""
    mask = (1 << 64) - 1
    while True:
        seed = (seed + 0x9E3779B97F4A7C15) & mask
        z = seed
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & mask
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & mask
        yield ((z ^ (z >> 31)) >> 11) / (1 << 53)


def data():
    """Four features that depend on each other, and a label that depends on them and on chance."""
    numbers = split_mix(5)
    rows, labels = [], []
    for _ in range(SAMPLES):
        a, b, c, noise = (next(numbers) for _ in range(4))
        rows.append([a, 100 * b + 20 * a, c * c - b, 3])
        labels.append(2 * a - b + 0.5 * c + 1.5 * noise > 1.6)
    # As f32, in which Frostline keeps features.
    return numpy.array(rows, dtype=numpy.float32).astype(float), numpy.array(labels)


def main():
    rows, labels = data()
    scaler = StandardScaler().fit(rows[:TO_TRAIN])
    train, test = scaler.transform(rows[:TO_TRAIN]), scaler.transform(rows[TO_TRAIN:])
    sgd = {"penalty": "l2", "alpha": PENALTY, "max_iter": 2000, "tol": None, "average": True}
    models = {
        "sgd": SGDClassifier(loss="log_loss", random_state=1, **sgd),
        "logistic": LogisticRegression(C=1 / (PENALTY * TO_TRAIN), tol=1e-10, max_iter=10000),
        "svm": SGDClassifier(loss="hinge", random_state=1, **sgd),
    }
    figures = {"scikit_learn": sklearn.__version__, "frozen": int(labels.sum()), "models": {}}
    for name, model in models.items():
        model.fit(train, labels[:TO_TRAIN])
        scores = model.decision_function(test)
        figures["models"][name] = {
            "weights": [round(float(w), 6) for w in model.coef_[0]],
            "bias": round(float(model.intercept_[0]), 6),
            "accuracy": round(accuracy_score(labels[TO_TRAIN:], scores > 0), 6),
            "roc_area": round(float(roc_auc_score(labels[TO_TRAIN:], scores)), 6),
        }
    to = pathlib.Path(__file__).with_suffix(".json")
    to.write_text(json.dumps(figures, indent=2) + "\n")


main()
