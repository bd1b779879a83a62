"""A contract for import-linter: what a room keeps private stays in it."""

from importlinter import Contract, ContractCheck, output


class PrivateModules(Contract):
    """No room imports a module of another room whose name, or whose package's, begins with _."""

    def check(self, graph, verbose):
        found = []
        for importer in sorted(graph.modules):
            for imported in sorted(graph.find_modules_directly_imported_by(importer)):
                room, inside = imported.split(".")[:2], imported.split(".")[2:]
                private = any(part.startswith("_") for part in inside)
                measured = importer.startswith("aqka_research.benchmarks.")  # may look inside
                if private and importer.split(".")[:2] != room and not measured:
                    found.append(f"{importer} -> {imported}")
        return ContractCheck(kept=not found, metadata={"found": found})

    def render_broken_contract(self, check):
        for line in check.metadata["found"]:
            output.print_error(line)
