from aqka import StatevectorBackend


class Counting(StatevectorBackend):
    """Counts the shots of every backend that was made."""

    spent = 0

    def submit(self, plan, tag):
        Counting.spent += plan.total
        return super().submit(plan, tag)
