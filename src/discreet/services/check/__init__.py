"""The verb `check`: does the data fit the policy? For the custodian, who accepts every version of the data.

`data_check.py` counts, `verdicts.py` judges, `spellings.py` and `reading_hints.py` find the fix, and
`acceptance.py` records and requires the custodian's acceptance.
"""
