"""A contract for import-linter: what a room keeps private stays in it."""

from importlinter import Contract, ContractCheck, output


class PrivateModules(Contract):
    """No room imports a module of another room whose name, or whose package's, begins with _."""

    def check(self, graph, verbose):
        root = self.session_options["root_packages"][0]
        found = []
        for importer in sorted(graph.modules):
            for imported in sorted(graph.find_modules_directly_imported_by(importer)):
                room, *inside = imported.split(".")[1:] or [""]
                private = any(part.startswith("_") for part in inside)
                if private and importer.split(".")[:2] != [root, room]:
                    found.append(f"{importer} -> {imported}")
        return ContractCheck(kept=not found, metadata={"found": found})

    def render_broken_contract(self, check):
        for line in check.metadata["found"]:
            output.print_error(line)
