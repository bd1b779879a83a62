"""Draws docs/measured/report.png: the top of the report of the study that ``aqka init`` writes.

Run ``python -m tests.report.picture`` from the repository.
"""

import tempfile
from pathlib import Path

from threadpoolctl import threadpool_limits

from aqka.report.run_page import collect, write_report
from aqka.study.carry_out import carry_out
from aqka.study.directory import prepare
from aqka.study.new_study import example
from tests.report.browser import chromium

TARGET = Path(__file__).parents[2] / "docs" / "measured" / "report.png"


def main():
    base = Path(tempfile.mkdtemp())
    study = base / "study.toml"
    study.write_text(example())
    run = base / "runs" / "study"
    with threadpool_limits(1):
        carry_out(prepare(study), run)
        write_report(collect([run]), base / "report.html")
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 1040, "height": 1030})
        page.goto((base / "report.html").as_uri())
        page.screenshot(path=TARGET)


if __name__ == "__main__":
    main()
