"""The verb `check`: does the data fit the policy? For the custodian, who accepts every version of the data.

`data_check.py` counts for `check_report.py`, `verdicts.py` and `table_findings.py` judge, `reading_hints.py`
finds reading options that mend a column, and
`acceptance.py` records and requires the custodian's acceptance.
"""
