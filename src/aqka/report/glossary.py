"""The words of a report, each in a sentence; the site's glossary is written from here too."""

GLOSSARY = {
    "shot": "One execution of a circuit. It answers yes (a hit) or no.",
    "pair": "Two points. A shot on a pair measures how alike the states of the two are: the share "
    "of hits estimates the kernel entry K.",
    "Pauli setting": "What each qubit is measured in, X, Y or Z, where points are measured instead "
    "of pairs. All points share a few dozen, and their states are fitted to the counts.",
    "kernel": "The table of how alike any two points are, from 0 to 1. K is exact, K̂ is measured.",
    "feature map": "The circuit that turns the numbers of a point into a quantum state.",
    "exact kernel": "The kernel without any noise, which simulation can give for few qubits: what "
    "endless shots on a perfect device would measure.",
    "plain model": "A model that needs no quantum computer and no shot: an SVM with RBF kernel, "
    "logistic regression, gradient boosting.",
    "majority class": "Always answering the most frequent class of the training points: what one "
    "gets without learning anything, by guessing.",
    "accuracy": "Share of the test points whose class is predicted right.",
    "balanced accuracy": "The same, taken for each class by itself and then averaged, so that a "
    "rare class counts as much as a frequent one.",
    "95 % interval": "Where the accuracy of endless test points would lie, for 95 of 100 such "
    "intervals (Wilson's, sound for 10 of 10 too).",
    "p-value": "How often chance alone would make two models differ as much as they do on the same "
    "points, if they were equally good (exact McNemar test). Below 0.05 we believe it.",
    "cross-validation": "Training on a part of the training points and predicting the rest, in "
    "turns.",
    "decision value": "The number f whose sign is the class; 0 is the border between two classes. "
    "Of more classes, how far the first is ahead of the second.",
    "settled": "More test shots would hardly change the predicted class of this trained head.",
    "could flip": "The interval that counts the noise of the training shots too reaches the "
    "border: the same readout on the exact kernel could answer another class.",
    "sensitivity": "|g|, how strongly an error in one pair moves the loss of the head.",
    "Gini": "How unevenly something is spread: 0 if all pairs have the same, near 1 if a few have "
    "almost all.",
    "allocator": "What decides which pair gets how many shots.",
    "readout": "How the noisy kernel becomes a trained head, such as ridge regression.",
    "head": "The trained classifier: a weight for every training point.",
    "spectrum": "The eigenvalues of the kernel. Those below the noise floor cannot be told from "
    "shot noise.",
    "ledger": "The file in which every plan, job and answer is written before it is used, so that "
    "no shot is paid for twice.",
    "layout": "The qubits of the device that the circuit was placed on.",
    "calibration": "The device's own measurement of its errors; after a new one it may behave "
    "differently.",
    "QPU time": "How long the quantum processor was at work, which is what is billed.",
}
