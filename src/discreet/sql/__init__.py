"""From a question's text and the policy to a plan, and from a plan to its answer.

Planning is pure: it never touches data, and every refusal follows from text and policy. The question's text
ends in `scalars` and `rows`: what the engine runs is written by `compile` from our own tree.
"""
