"""skorch: fitting, callbacks, files, pipelines and searches of scikit-learn."""
# needs: skorch sklearn tabulate

import pickle

import numpy as np
import torch
from shown import show
from sklearn.datasets import make_classification, make_regression
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from skorch import NeuralNetBinaryClassifier, NeuralNetClassifier, NeuralNetRegressor
from skorch.callbacks import (
    Checkpoint,
    EarlyStopping,
    EpochScoring,
    Freezer,
    GradientNormClipping,
    LRScheduler,
)
from torch import nn

torch.manual_seed(0)
X, y = make_classification(200, 20, n_informative=10, random_state=0)
X, y = X.astype(np.float32), y.astype(np.int64)


class Net(nn.Module):
    def __init__(self, units=10):
        super().__init__()
        self.dense, self.dropout, self.output = nn.Linear(20, units), nn.Dropout(0.5), nn.Linear(units, 2)

    def forward(self, x):
        return torch.softmax(self.output(self.dropout(torch.relu(self.dense(x)))), dim=-1)


net = NeuralNetClassifier(Net, max_epochs=3, lr=0.1, verbose=0, iterator_train__shuffle=True, callbacks=[
    EarlyStopping(patience=5), LRScheduler("StepLR", step_size=1), GradientNormClipping(1.0), Checkpoint(dirname="b"),
    EpochScoring("roc_auc", lower_is_better=False), Freezer("dense.bias")])
net.fit(X, y)
show("history", net.history[:, ("train_loss", "valid_loss", "valid_acc", "roc_auc")])
show("predictions", net.predict_proba(X[:5]), net.predict(X[:5]), net.score(X, y))
show("pickled", np.allclose(pickle.loads(pickle.dumps(net)).predict_proba(X), net.predict_proba(X)))
net.save_params(f_params="p.pt", f_optimizer="o.pt", f_history="h.json")
again = NeuralNetClassifier(Net, lr=0.1, verbose=0).initialize()
again.load_params(f_params="p.pt")
show("loaded", np.allclose(again.predict_proba(X), net.predict_proba(X)))
pipeline = Pipeline([("scale", StandardScaler()), ("net", NeuralNetClassifier(Net, max_epochs=2, lr=0.1, verbose=0,
                                                                             train_split=False))])
search = GridSearchCV(pipeline, {"net__lr": [0.01, 0.1], "net__module__units": [5, 8]}, refit=False, cv=3)
search.fit(X, y)
show("search", search.best_score_, search.best_params_, search.cv_results_["mean_test_score"])

A, b = make_regression(100, 20, random_state=0)
A, b = A.astype(np.float32), b.astype(np.float32).reshape(-1, 1) / 100
regression = NeuralNetRegressor(nn.Sequential(nn.Linear(20, 8), nn.Tanh(), nn.Linear(8, 1)), max_epochs=3,
                                optimizer=torch.optim.Adam, verbose=0)
regression.fit(A, b)
show("regression", regression.history[:, "train_loss"], regression.predict(A[:3]))
show("cross", cross_val_predict(regression, A, b)[:3])
binary = NeuralNetBinaryClassifier(nn.Sequential(nn.Linear(20, 1), nn.Flatten(0)), max_epochs=2, verbose=0)
show("binary", binary.fit(X, y.astype(np.float32)).predict_proba(X[:3]))
print(net)
