"""What the tests of reports ask again and again."""

import re

from aqka.report.answers import answer_questions


def words_by_question(report):
    return {answer.question: answer.words for answer in answer_questions(report)}


def without_links(page):
    """Return a page whose words are not linked to the glossary."""
    return re.sub("</?a[^>]*>", "", page)
