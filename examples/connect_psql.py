"""Connect psql, or whatever else speaks PostgreSQL: here psycopg asks a server of the samples.

discreet serve                                     in another terminal; it prints a password
python examples/connect_psql.py postgresql://analyst:PASSWORD@127.0.0.1:5433/discreet
"""

from __future__ import annotations

import sys

import psycopg

QUESTION = "SELECT sex, COUNT(*) AS people, AVG(age) AS age FROM census WHERE age >= %s GROUP BY sex"


def main(address: str) -> None:
    with psycopg.connect(address, autocommit=True) as client:
        # cost, error and belief come as notices, beside the rows
        client.add_notice_handler(lambda notice: print(f"NOTICE: {notice.message_primary}"))
        client.execute("SET discreet.epsilon = 0.1")
        for (line,) in client.execute(f"EXPLAIN {QUESTION}", (40,)):
            print(line)

        print()
        for sex, people, age in client.execute(QUESTION, (40,)):
            print(f"{sex:8}{people:>8,}{age:>8.1f}")

        (left,) = client.execute("SHOW discreet.left").fetchone() or ("",)
        print(f"\nleft of the own share: {left}")
        try:
            client.execute("SELECT age FROM census WHERE age = 90")
        except psycopg.errors.FeatureNotSupported as refused:
            print(f"refused, for nothing: {refused.diag.message_primary}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python examples/connect_psql.py postgresql://USER:PASSWORD@HOST:PORT/discreet")
    main(sys.argv[1])
