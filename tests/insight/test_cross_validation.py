import numpy as np
from sklearn.kernel_ridge import KernelRidge

from aqka import Problem
from aqka.insight.cross_validation import cross_validated_accuracy
from aqka.maths.metrics import split_folds
from aqka.readouts import make_readout
from tests.conftest import make_kernel, make_labels


def test_cross_validation_agrees_with_scikit_learn():
    labels = make_labels(40)
    kernel = make_kernel(40)
    labels[:5] *= -1
    right = 0
    for kept, held in split_folds(40):
        model = KernelRidge(alpha=0.3, kernel="precomputed")
        model.fit(kernel[np.ix_(kept, kept)], labels[kept])
        right += np.sum(np.sign(model.predict(kernel[np.ix_(held, kept)])) == labels[held])
    problem = Problem(labels, ridge=0.3)
    found = cross_validated_accuracy(kernel, labels, make_readout("ridge"), problem)
    assert found == right / 40
    alone = np.array([1, 0, 0, 0])
    readout = make_readout("ridge")
    assert cross_validated_accuracy(np.eye(4), alone, readout, Problem(alone)) is None
