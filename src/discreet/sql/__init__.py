"""SQL under differential privacy: query text and policy to a plan, and a plan to its answer.

Planning is pure: it reads no data, and every refusal follows from text and policy alone. The analyst's text
is not used beyond `scalar_expressions` and `row_sources`: `sql_compiler` writes the statements that the
engine runs from our own expression tree.

    parse (query_parser, query_validation) → resolve (resolver) → bound contributions (contribution_bounding)
    → decompose measures (measure_decomposition) → split the budget (budget_split) → choose noise (planner)
    → compile (sql_compiler) → execute (plan_execution) → estimate (interval_estimates)
"""
