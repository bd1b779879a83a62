"""The paper's figures and tables, judged claim by claim."""
