"""Privacy audits: an empirical lower bound on the epsilon of a mechanism, a question or a curator.

An audit of a question can also audit beliefs: it compares attackers' posteriors after every run with the
promise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from discreet.attacks.neighbor_pairs import DELTA, build_pair
from discreet.attacks.privacy_audit import EpsilonAudit, PosteriorAudit, audit_epsilon
from discreet.belief.wording import format_number, format_percent
from discreet.core.errors import RequestError
from discreet.core.html_summary import build_facts, build_sentence, build_summary
from discreet.core.policy import Policy
from discreet.core.randomness import Randomness
from discreet.services.audit.audit_request import AuditRequest, is_question
from discreet.services.audit.question_audit import QuestionAudit, audit_question, audit_session
from discreet.services.policies import get_promise


@dataclass(frozen=True, kw_only=True, repr=False)
class AuditResult:
    """The audit of epsilon and, if it was requested, of attackers' posteriors."""

    epsilon_audit: EpsilonAudit
    posterior_audit: PosteriorAudit | None = None

    def __repr__(self) -> str:
        claimed, bound = self.epsilon_audit.formatted_bounds
        return f"<AuditResult: epsilon at least {bound}, claimed {claimed}, {self.epsilon_audit.runs:,} runs>"

    def _repr_html_(self) -> str:
        claimed, bound = self.epsilon_audit.formatted_bounds
        facts = [
            ("claimed epsilon", claimed),
            ("lower bound", f"{bound}, with {format_percent(self.epsilon_audit.confidence)} confidence"),
            ("runs", f"{self.epsilon_audit.runs:,}"),
        ]
        return build_summary(build_facts(facts, caption="Audit"), build_sentence(self.verdict))

    @property
    def verdict(self) -> str:
        """The verdict in a sentence on epsilon, and one on posteriors if they were audited."""
        audits = (self.epsilon_audit, self.posterior_audit)
        return " ".join(each.verdict for each in audits if each is not None)

    @property
    def holds(self) -> bool:
        """True unless the runs contradict the claimed epsilon or the promised posterior."""
        return self.epsilon_audit.holds and (self.posterior_audit is None or self.posterior_audit.holds)


def run_audit(
    request: AuditRequest, policy: Policy | None, report_progress: Callable[[str], None] = lambda _: None
) -> AuditResult:
    """Audit a question under a policy, or a mechanism if `policy` is None."""
    if request.session and request.posterior:
        raise RequestError("audit: `session=` and `posterior=` exclude each other.", hint="Choose one.")
    if policy is None:
        if is_question(request.audited):
            raise RequestError("audit: a question needs a policy.", hint="Give `policy=`.")
        if request.session or request.posterior:
            option = "session" if request.session else "posterior"
            raise RequestError(
                f"audit: `{option}=` needs a promise, and a mechanism has none.",
                hint="Give a question and `policy=`.",
            )
        report_progress(f"running {request.audited}")
        return AuditResult(epsilon_audit=_audit_mechanism(request))
    if request.delta is not None:
        raise RequestError(
            "audit: `delta=` goes with a mechanism.", hint="A question's delta follows from the promise."
        )
    if request.session:
        return AuditResult(
            epsilon_audit=audit_session(
                policy,
                request.audited,
                epsilon=request.epsilon,
                runs=request.runs,
                confidence=request.confidence,
                progress=report_progress,
            )
        )
    found = _audit_policy_question(request, policy, report_progress)
    return AuditResult(
        epsilon_audit=found.epsilon_audit,
        posterior_audit=found.posterior_audit if request.posterior else None,
    )


def _audit_mechanism(request: AuditRequest) -> EpsilonAudit:
    claimed = 1.0 if request.epsilon is None else request.epsilon
    delta = DELTA if request.delta is None else request.delta
    audited = build_pair(request.audited, epsilon=claimed, delta=delta)
    here, there = audited.make_samplers(Randomness())
    return audit_epsilon(
        here,
        there,
        claimed=claimed,
        delta=max(0.0, audited.mechanism.guarantee.profile(claimed)),
        runs=audited.default_runs if request.runs is None else request.runs,
        confidence=request.confidence,
    )


def _audit_policy_question(
    request: AuditRequest, policy: Policy, report_progress: Callable[[str], None]
) -> QuestionAudit:
    """Audit a question; beliefs are audited at the promise's whole epsilon by default."""
    promise = get_promise(policy)
    usual = promise.epsilon if request.posterior and promise.tail == 0 else policy.epsilon or 1.0
    claimed = usual if request.epsilon is None else request.epsilon
    found = audit_question(
        policy,
        request.audited,
        epsilon=claimed,
        runs=request.runs,
        confidence=request.confidence,
        progress=report_progress,
    )
    if request.posterior and found.posterior_audit is None:
        raise RequestError(
            f"audit: the promise does not allow a question of epsilon {format_number(claimed)}.",
            hint="Give a smaller `epsilon=`.",
        )
    return found
