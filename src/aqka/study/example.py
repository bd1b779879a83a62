"""The commented example that ``aqka init`` writes."""

EXAMPLE = """\
# A study: data, a feature map, a budget, and how to spend it.
#   aqka check {name}     (is it worth any shots?)
#   aqka run {name}
# Every key is shown with its default or an example; lines that begin with # are optional.

output = "runs/{stem}"        # directory of the run, inside this file's directory

[data]
source = "breast-cancer"      # built-in: breast-cancer, wine, iris, digits, moons, circles;
                              # or a .csv, .parquet or .npz file beside this one
# task = "regression"         # the target holds numbers (built-in: diabetes), not classes
# target = "label"            # of a file: the column of the labels (.npz: the array, beside X)
# features = ["a", "b"]       # of a file: columns to use; default: all others
# id = "name"                 # of a file: the column that names the points; default: rows, from 1

[split]
train = 60                    # points, or a fraction of all; default: all but the test points
test = 30                     # points, or a fraction of all; 0: all points are for training
seed = 0                      # of the shuffle; classes keep their shares

[feature_map]
map = "zz"                    # zz (linear), zz-full, z; a .qpy or .qasm
                              # (OpenQASM 3) file; or "module:function" with --allow-code
qubits = 4                    # of a built-in map: one per feature
reps = 2                      # of a built-in map: repetitions of its layers
reduce = "pca"                # more columns than features: keep principal components; or "none"
range = [2.0, 4.0]            # each feature is scaled to this, fitted on training points; default:
                              # [0.0, 3.141592653589793]. aqka check tries some on your data

[backend]
name = "statevector"          # statevector (zz up to 10 qubits needs no extra), aer, ibm,
                              # sampler (any Qiskit sampler), pennylane (any PennyLane device),
                              # matrix-product (points of many qubits, little entangled)
# noise = [0.01, 0.04]        # of aer: depolarising rates of one- and two-qubit gates
# device = "fake_fez"         # of ibm: a fake device runs here; "ibm_fez" is hardware;
                              # default: the least busy. No token belongs in this file.
                              # of pennylane: such as "default.qubit", or "module:function"
# sampler = "lab:make"        # of sampler: module:function that makes one, with --allow-code
# account = "work"            # of ibm: name of the saved account, which has instance and region
# instance = "crn:…"          # of ibm: another instance than the account's
# region = "eu-de"            # of ibm: another region
# mode = "auto"               # of ibm: auto, session, batch or job
# options = { max_execution_time = 300, dynamical_decoupling = { enable = true } }
                              # of ibm: options of its sampler; twirling is another
# optimization_level = 1      # of ibm and sampler: of Qiskit's transpiler, 0 to 3
# initial_layout = [0, 1, 2, 3]  # of ibm and sampler: qubits of the device
# pass_manager = "lab:passes" # of ibm and sampler: module:function, in place of these two
# tiles = "auto"              # of ibm: circuits side by side on the chip; default 1
seed = 0                      # of simulators

[budget]
train = "20000 shots"         # or QPU time ("5 min"), or money ("$100", which needs rate)
# total = "100000 shots"      # in place of train: for training and predictions together
# train_share = 0.5           # of total: training's share; default: split with a reason
test_shots = 100              # for predictions, on top: at most so many for each pair of a test
                              # and a training point, on average; points settled early take less;
                              # of points: for each test point
                              # 0 trains only; predict later with aqka predict
# ceiling = "10 min"          # nothing is submitted beyond it; default: total
# rate = 96.0                 # price of a QPU minute
# queue = 50                  # jobs that wait before each of ours, for the quote

# [sentinels]                 # diagonal entries that show the noise of a device
# points = 4                  # training points whose K_ii is measured in every round
# shots = 100                 # of each, beside the training shots
# mitigate = false            # take the depolarising noise that they show out again

[method]
design = "pairs"              # what a shot is spent on; "points" measures each point once, "auto"
                              # takes the one with the smaller error
allocator = "uniform"         # even shots, in one round; "aqka" is the paper's; see the README
head = "ridge"                # or "svm"
# readout = "ridge-noise"     # or balanced (for rare classes), ridge, ridge-kfold, ridge-loo;
                              # of the head svm: svm
ridge = 0.01                  # of the loss that the allocator follows
C = 5.0                       # of the head svm
# warmup = 0.2                # share of the budget spent before anything is known
# rounds = 4                  # after the warm-up
# explore = 0.2               # share of each round spent regardless of the scores
seed = 0                      # of the allocation
# calibration_shots = 0       # of design "points": shots of the training budget that tell the
                              # readout errors of a device, which are then taken out
# point_kernel = "purified"   # of design "points": without a device's noise, or "device": with it;
                              # projected, projected-2, projected-linear, projected-2-linear: of
                              # one- or two-qubit reduced states
"""


def example(name: str = "study.toml") -> str:
    """Return the example for a file of that name.

    Examples
    --------
    >>> from aqka.study.schema import parse_study
    >>> parse_study(example()).budget.train
    '20000 shots'
    """
    stem = "".join(c if c.isalnum() or c in "-_" else "-" for c in name.removesuffix(".toml"))
    return EXAMPLE.replace("{name}", stem + ".toml").replace("{stem}", stem)
