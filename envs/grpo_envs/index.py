"""The light index: every task by name and string, so that importing grpo_gym imports no task."""

from __future__ import annotations

TASKS = {
    "math.chain": "grpo_envs.math.chain:chain",
    "math.linear": "grpo_envs.math.linear:linear",
    "math.fractions": "grpo_envs.math.fractions:fractions",
    "math.remainder": "grpo_envs.math.remainder:remainder",
    "math.gcd": "grpo_envs.math.gcd:gcd",
    "math.percent": "grpo_envs.math.percent:percent",
    "math.rates": "grpo_envs.math.rates:rates",
    "math.powers": "grpo_envs.math.powers:powers",
    "math.logs": "grpo_envs.math.logs:logs",
    "math.expand": "grpo_envs.math.expand:expand",
    "math.factor": "grpo_envs.math.factor:factor",
    "math.quadratic": "grpo_envs.math.quadratic:quadratic",
    "math.roots": "grpo_envs.math.roots:roots",
    "math.inequality": "grpo_envs.math.inequality:inequality",
    "math.system": "grpo_envs.math.system:system",
    "math.sequence": "grpo_envs.math.sequence:sequence",
    "math.divisors": "grpo_envs.math.divisors:divisors",
    "math.modular": "grpo_envs.math.modular:modular",
    "math.diophantine": "grpo_envs.math.diophantine:diophantine",
    "math.counting": "grpo_envs.math.counting:counting",
    "math.probability": "grpo_envs.math.probability:probability",
    "math.derivative": "grpo_envs.math.derivative:derivative",
    "math.integral": "grpo_envs.math.integral:integral",
    "math.antiderivative": "grpo_envs.math.antiderivative:antiderivative",
    "math.limit": "grpo_envs.math.limit:limit",
    "math.trigonometry": "grpo_envs.math.trigonometry:trigonometry",
    "math.complex": "grpo_envs.math.complex:complex",
    "math.determinant": "grpo_envs.math.determinant:determinant",
    "math.inverse": "grpo_envs.math.inverse:inverse",
    "math.matrix_product": "grpo_envs.math.matrix_product:matrix_product",
    "math.eigenvalues": "grpo_envs.math.eigenvalues:eigenvalues",
    "math.triangle": "grpo_envs.math.triangle:triangle",
    "math.circle": "grpo_envs.math.circle:circle",
    "math.coordinates": "grpo_envs.math.coordinates:coordinates",
    "math.lattice_point": "grpo_envs.math.lattice_point:lattice_point",
    "math.proof": "grpo_envs.math.proof:proof",
    "math_tool.chain": "grpo_envs.math_tool.tasks:chain",
    "math_tool.linear": "grpo_envs.math_tool.tasks:linear",
    "math_tool.fractions": "grpo_envs.math_tool.tasks:fractions",
    "math_tool.remainder": "grpo_envs.math_tool.tasks:remainder",
    "math_tool.gcd": "grpo_envs.math_tool.tasks:gcd",
    "physics.motion": "grpo_envs.physics.motion:motion",
    "physics.forces": "grpo_envs.physics.forces:forces",
    "physics.energy": "grpo_envs.physics.energy:energy",
    "physics.circuits": "grpo_envs.physics.circuits:circuits",
    "physics.heat": "grpo_envs.physics.heat:heat",
    "physics.quantum_box": "grpo_envs.physics.quantum_box:quantum_box",
    "physics.oscillator": "grpo_envs.physics.oscillator:oscillator",
    "physics.hydrogen": "grpo_envs.physics.hydrogen:hydrogen",
    "physics.spin": "grpo_envs.physics.spin:spin",
    "physics.commutator": "grpo_envs.physics.commutator:commutator",
    "code.examples": "grpo_envs.code.examples:examples",
    "code.lists": "grpo_envs.code.lists:lists",
    "code.texts": "grpo_envs.code.texts:texts",
    "code.numbers": "grpo_envs.code.numbers:numbers",
    "code.records": "grpo_envs.code.records:records",
    "code.matrices": "grpo_envs.code.matrices:matrices",
    "code.nested": "grpo_envs.code.nested:nested",
    "code.intervals": "grpo_envs.code.intervals:intervals",
    "code.calendars": "grpo_envs.code.calendars:calendars",
    "code.machines": "grpo_envs.code.machines:machines",
    "code.robots": "grpo_envs.code.robots:robots",
    "code.expressions": "grpo_envs.code.expressions:expressions",
    "code.ledgers": "grpo_envs.code.ledgers:ledgers",
    "code.networks": "grpo_envs.code.networks:networks",
    "code.grids": "grpo_envs.code.grids:grids",
    "code.schedules": "grpo_envs.code.schedules:schedules",
    "code.knapsacks": "grpo_envs.code.knapsacks:knapsacks",
    "code.subarrays": "grpo_envs.code.subarrays:subarrays",
    "code.alignments": "grpo_envs.code.alignments:alignments",
    "code.games": "grpo_envs.code.games:games",
    "code.recurrences": "grpo_envs.code.recurrences:recurrences",
    "code_repair.functions": "grpo_envs.code_repair.tasks:functions",
    "code_repair.programs": "grpo_envs.code_repair.tasks:programs",
    "logic.guess_number": "grpo_envs.logic.guess_number:guess_number",
    "logic.mastermind": "grpo_envs.logic.mastermind:mastermind",
    "logic.twenty_questions": "grpo_envs.logic.twenty_questions:twenty_questions",
    "logic.knights": "grpo_envs.logic.knights:knights_and_knaves",
    "logic.zebra": "grpo_envs.logic.zebra:zebra",
    "logic.truth_chain": "grpo_envs.logic.truth_chain:truth_chain",
    "logic.sequence": "grpo_envs.logic.sequence:sequence",
    "logic.paths": "grpo_envs.logic.paths:paths",
    "logic.syllogism": "grpo_envs.logic.syllogism:syllogism",
    "logic.satisfiability": "grpo_envs.logic.satisfiability:satisfiability",
    "logic.propositional": "grpo_envs.logic.propositional:propositional",
    "logic.ordering": "grpo_envs.logic.ordering:ordering",
    "logic.circuit": "grpo_envs.logic.circuit:circuit",
    "logic.mini_sudoku": "grpo_envs.logic.mini_sudoku:mini_sudoku",
    "logic.sudoku": "grpo_envs.logic.sudoku:sudoku",
    "logic.countdown": "grpo_envs.logic.countdown:countdown",
    "logic.game24": "grpo_envs.logic.game24:game24",
    "logic.queens": "grpo_envs.logic.queens:queens",
    "logic.coloring": "grpo_envs.logic.coloring:coloring",
    "logic.cryptarithm": "grpo_envs.logic.cryptarithm:cryptarithm",
    "scheduling.job_shop": "grpo_envs.scheduling.job_shop:job_shop",
    "scheduling.flow_shop": "grpo_envs.scheduling.flow_shop:flow_shop",
    "scheduling.staff": "grpo_envs.scheduling.staff:staff",
    "diagnosis.noisy_or": "grpo_envs.diagnosis.noisy_or:noisy_or",
}


def _tasks(family: str, names: str) -> list[str]:
    return [f"{family}.{name}" for name in names.split()]


FAMILIES = {
    "arithmetic": _tasks("math", "chain linear fractions remainder gcd"),
    "math": _tasks(
        "math",
        "chain linear fractions remainder gcd percent rates powers logs expand factor quadratic roots inequality "
        "system sequence divisors modular diophantine counting probability derivative integral antiderivative limit "
        "trigonometry complex determinant inverse matrix_product eigenvalues triangle circle coordinates "
        "lattice_point proof",
    ),
    "math_tool": _tasks(
        "math_tool",
        "chain linear fractions remainder gcd",
    ),
    "physics": _tasks(
        "physics",
        "motion forces energy circuits heat quantum_box oscillator hydrogen spin commutator",
    ),
    "code": _tasks(
        "code",
        "examples lists texts numbers records matrices nested intervals calendars machines robots expressions ledgers "
        "networks grids schedules knapsacks subarrays alignments games recurrences",
    ),
    "code_repair": _tasks(
        "code_repair",
        "functions programs",
    ),
    "logic": _tasks(
        "logic",
        "knights zebra truth_chain propositional satisfiability syllogism ordering circuit sudoku mini_sudoku queens "
        "coloring cryptarithm countdown game24 sequence paths",
    ),
    "scheduling": _tasks("scheduling", "job_shop flow_shop staff"),
    "diagnosis": _tasks("diagnosis", "noisy_or"),
}
"""Mixtures. A new task does not join one by itself: the mixture would have other problems, which is a new version. The
tasks of grpo/Arithmetic-v0 are what the shipped policy was taught, and where `grpo-gym train` begins."""

DATASETS = {
    "math": "grpo_envs.datasets:tasks",
    "math_tool": "grpo_envs.math_tool.tasks:from_dataset",
    "code": "grpo_envs.datasets.code:tasks",
    "code_repair": "grpo_envs.code_repair.tasks:from_dataset",
}
"""Family -> what makes its tasks of a data set, `gym.make("grpo/Math-v0", dataset=...)`."""

MIX = {"grpo/Math-v0": 1, "grpo/Logic-v0": 1, "grpo/Physics-v0": 1}
"""What grpo/Mix-v0 mixes when nothing is named: families that are judged in process, with equal weights."""


def register() -> None:
    """Register families, tasks and the mixture; the plugin entry point of this package."""
    # not at the top: `import grpo_gym` calls this function, and whoever imports this module first would be in a circle
    from grpo_gym.registration import register_family, register_mixture, register_task

    for family, tasks in FAMILIES.items():
        register_family(family, tasks, dataset=DATASETS.get(family, ""))
    register_mixture("mix", MIX)
    for name, entry in TASKS.items():
        register_task(name, entry)
