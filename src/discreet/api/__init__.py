"""The verbs of the Python API; users import them from `discreet`.

charged_verbs    answer from the data under the promise: each is charged to the ledger
custodian_verbs  publish, attack and audit: for the custodian, who holds the data
anonymizer       the classes `Anonymizer` and `Release`
charts           draw promises, answers and budgets
"""
