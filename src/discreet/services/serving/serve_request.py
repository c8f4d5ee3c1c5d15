"""The request of `serve`: the policy, the addresses to listen on, TLS, and the timing of answers.

Loopback    Without TLS only this machine is served: SCRAM protects passwords in transit, but questions and
            answers would be readable.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from discreet.core.errors import RequestError
from discreet.core.number_checks import require_positive
from discreet.services.addresses import ENGINE_EXAMPLES
from discreet.services.network_addresses import is_loopback
from discreet.services.request_fields import POLICY_PANEL, CommandLine
from discreet.services.serving.tls import TlsCertificate

MAX_PORT = 65535
ADDRESS_PANEL, TLS_PANEL, TIMING_PANEL = "Addresses", "TLS", "Timing"


class ServeRequest(BaseModel):
    """A policy to serve, and how."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    policy: Annotated[
        Path | None,
        Field(description="The custodian's policy."),
        CommandLine(
            flags=("-p", "--policy"), shown_default="privacy.yaml, else sample tables", panel=POLICY_PANEL
        ),
    ] = None
    setup: Annotated[
        bool,
        Field(description="Start without a policy if there is none: the custodian makes it in the console."),
        CommandLine(panel=POLICY_PANEL),
    ] = False
    host: Annotated[
        str,
        Field(description="The address to listen on; any but this machine's own needs TLS."),
        CommandLine(panel=ADDRESS_PANEL, metavar="ADDRESS"),
    ] = "127.0.0.1"
    names: Annotated[
        tuple[str, ...],
        Field(description="A host name that clients use, besides the address; may be repeated."),
        CommandLine(flags=("--name",), panel=ADDRESS_PANEL, metavar="NAME"),
    ] = ()
    http: Annotated[
        int,
        Field(description="The HTTP port; 0 picks a free one.", ge=0, le=MAX_PORT),
        CommandLine(least=0, most=MAX_PORT, panel=ADDRESS_PANEL, metavar="PORT"),
    ] = 8000
    postgres: Annotated[
        int,
        Field(description="The PostgreSQL port; 0 picks a free one.", ge=0, le=MAX_PORT),
        CommandLine(least=0, most=MAX_PORT, panel=ADDRESS_PANEL, metavar="PORT"),
    ] = 5433
    engine: Annotated[
        str | None,
        Field(description=f"The engine that holds the rows, instead of the policy's: {ENGINE_EXAMPLES}."),
        CommandLine(metavar="ADDRESS", panel=POLICY_PANEL),
    ] = None
    ledger: Annotated[
        str | None,
        Field(description="The ledger, instead of the policy's: sqlite:///ledger.db or postgresql://…."),
        CommandLine(metavar="ADDRESS", panel=POLICY_PANEL),
    ] = None
    catalog: Annotated[
        str | None,
        Field(description="An empty PostgreSQL database to answer catalog queries: postgresql://…."),
        CommandLine(panel=ADDRESS_PANEL, metavar="ADDRESS"),
    ] = None
    tls_cert: Annotated[
        Path | None, Field(description="A certificate, as PEM."), CommandLine(panel=TLS_PANEL)
    ] = None
    tls_key: Annotated[Path | None, Field(description="Its key, as PEM."), CommandLine(panel=TLS_PANEL)] = (
        None
    )
    padding: Annotated[
        bool,
        Field(
            description="Delay answers so that their timing reveals nothing; not needed if analysts are "
            "trusted."
        ),
        CommandLine(flags=("--padding/--no-padding",), panel=TIMING_PANEL),
    ] = True
    slack: Annotated[
        float,
        Field(description="Multiply that delay, if questions take longer."),
        CommandLine(panel=TIMING_PANEL),
    ] = 1.0

    @property
    def certificate(self) -> TlsCertificate | None:
        """The certificate to serve with; None without TLS."""
        if self.tls_cert is None or self.tls_key is None:
            return None
        return TlsCertificate(certificate_file=self.tls_cert, key_file=self.tls_key)

    @model_validator(mode="after")
    def _require_safe_listener(self) -> Self:
        """Refuse half a certificate, and addresses that other machines could reach without TLS."""
        if (self.tls_cert is None) != (self.tls_key is None):
            raise RequestError(
                "serve: a certificate goes with its key.", hint="Give `tls_cert=` and `tls_key=`."
            )
        if self.certificate is None and not is_loopback(self.host):
            raise RequestError(
                f"serve: {self.host} is reachable from other machines, and TLS is not configured.",
                hint="Give `tls_cert=` and `tls_key=`, or leave out `host=`.",
            )
        require_positive("serve", "slack", self.slack)
        return self
