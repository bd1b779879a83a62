"""What the tests of reports ask again and again."""

from aqka.report.answers import answer_questions


def words_by_question(report):
    return {answer.question: answer.words for answer in answer_questions(report)}
