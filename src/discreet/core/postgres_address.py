"""PostgreSQL addresses whose sessions resolve names in the server's own catalog from the start.

A driver runs statements of its own as soon as it is connected. With the server's default search path
(`"$user", public`) an operator or function that somebody created in one of these schemas can be a better
match for them than the built-in one, and then runs with the rights of our role. `pin_search_path` therefore
puts the search path into the connection's start-up message, which takes precedence over the settings of the
role and of the database. `pg_temp` comes last: where it is not listed, temporary tables are found before the
catalog.

The encoding of the connection is fixed there, too: under another one, whether a text can be sent would depend
on its characters, and thus on the data.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from urllib.parse import quote, unquote

from discreet.core.errors import RequestError

SEARCH_PATH = "pg_catalog,pg_temp"
ENCODING = "client_encoding"
TRUST = "trusted_roles"
"""The parameter of an address that names roles which the custodian trusts; it is not passed on to libpq."""
TRUSTED_ROLES = (
    "SELECT r.oid FROM pg_catalog.pg_roles r WHERE r.rolsuper"
    " OR r.rolname IN (current_user, 'pg_database_owner') OR r.oid = (SELECT d.datdba"
    " FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database())"
)
"""Roles that can change what we read and write in any case: our own, superusers, the database's owner."""
BECOME = (
    "CASE WHEN CAST(pg_catalog.current_setting(CAST('server_version_num' AS text)) AS integer)"
    " >= CAST(160000 AS integer) THEN CAST('SET' AS text) ELSE CAST('MEMBER' AS text) END"
)
"""The privilege of `pg_has_role` by which a role may become another by SET ROLE.

Up to PostgreSQL 15 every member may. From 16 on a member may have the option to grant a role alone, as every
role has that created another one.
"""
OTHERS_OF_TABLE = (
    "SELECT DISTINCT coalesce(pg_catalog.quote_ident(CAST(r.rolname AS text)), 'PUBLIC') AS role"
    " FROM pg_catalog.pg_class c CROSS JOIN LATERAL pg_catalog.aclexplode(c.relacl) a"
    " LEFT JOIN pg_catalog.pg_roles r ON r.oid = a.grantee"
    " WHERE c.oid = pg_catalog.to_regclass({table}) AND a.grantee <> c.relowner"
)
"""The grantees of a table, as a GRANT names them; default privileges grant new tables to some."""
GRANTED = (
    "SELECT DISTINCT coalesce(pg_catalog.quote_ident(CAST(r.rolname AS text)), 'PUBLIC') AS role"
    " FROM pg_catalog.pg_class c CROSS JOIN LATERAL ("
    "SELECT a.grantee FROM pg_catalog.aclexplode(c.relacl) a UNION ALL"
    " SELECT a.grantee FROM pg_catalog.pg_attribute f CROSS JOIN LATERAL pg_catalog.aclexplode(f.attacl) a"
    " WHERE f.attrelid = c.oid) AS g"
    " LEFT JOIN pg_catalog.pg_roles r ON r.oid = g.grantee"
    " WHERE c.oid = pg_catalog.to_regclass({table}) AND g.grantee <> c.relowner"
    f" AND g.grantee NOT IN ({TRUSTED_ROLES}) ORDER BY 1"
)
"""The grantees of a table or of its columns who are not trusted."""
LOGIN = re.compile(r"[a-z]+://(?:[^@/]*@)?")
WORD = re.compile(r"(?:\\.|[^\s\\])+", re.S)
NAME = re.compile(r'\s*(?:"((?:[^"]|"")*)"|([^\s,"]+))\s*(?:,|$)')


def pin_search_path(address: str, settings: Mapping[str, str] | None = None) -> str:
    """Return the address with a fixed search path and encoding; other settings in its options are kept.

    `settings` are added. No statement log contains a start-up message, so the settings may include a secret.

    >>> pin_search_path("postgresql://db.example/shop?options=-csearch_path%3Dclinic")
    'postgresql://db.example/shop?client_encoding=UTF8&options=-csearch_path%3Dpg_catalog%2Cpg_temp'
    """
    place, parameters, named = _parse_address(address)
    pinned = {**(settings or {}), "search_path": SEARCH_PATH}
    # as a parameter, which counts more than PGCLIENTENCODING and the options do
    parameters = [each for each in parameters if unquote(each.partition("=")[0]) != ENCODING]
    parameters.append(f"{ENCODING}=UTF8")
    kept = [each for each in named if _parse_setting_name(each) not in {*pinned, ENCODING}]
    added = [f"{name}={value}" for name, value in pinned.items()]
    words = [re.sub(r"([\s\\])", r"\\\1", f"-c{each}") for each in (*kept, *added)]
    return f"{place}?{'&'.join([*parameters, 'options=' + quote(' '.join(words), safe='')])}"


def find_named_schema(address: str) -> str | None:
    """Return the first schema of the search path that an address sets, or None.

    >>> find_named_schema("postgresql://db.example/promises?options=-c%20search_path%3DOne,two")
    'one'
    """
    _, _, settings = _parse_address(address)
    paths = [each.partition("=")[2] for each in settings if _parse_setting_name(each) == "search_path"]
    found = NAME.match(paths[-1]) if paths else None
    if found is None:
        return None
    name = found[1].replace('""', '"') if found[1] is not None else found[2].lower()
    return None if name in ("", "$user") else name


def find_trusted_roles(address: str) -> list[str]:
    """Return the roles that an address names as trusted.

    >>> find_trusted_roles("postgresql://db.example/promises?trusted_roles=backup,ops")
    ['backup', 'ops']
    """
    query = address[_find_login_end(address) :].partition("?")[2].partition("#")[0]
    named = [each.partition("=")[2] for each in query.split("&") if each.partition("=")[0] == TRUST]
    return [unquote(role) for each in named for role in each.split(",") if role]


def _find_login_end(address: str) -> int:
    login = LOGIN.match(address)
    return login.end() if login else 0


def _parse_address(address: str) -> tuple[str, list[str], list[str]]:
    """Split an address as libpq does: the place, its other parameters, and the settings of `options`.

    libpq reads PGOPTIONS where an address has no options.
    """
    start = _find_login_end(address)
    rest, _, query = address[start:].partition("?")
    options, parameters = os.environ.get("PGOPTIONS", ""), []
    for parameter in filter(None, query.split("&")):
        name, _, value = parameter.partition("=")
        if unquote(name) == "options":
            options = unquote(value)  # the last one counts, and a plus sign is no space
        elif name != TRUST:
            parameters.append(parameter)
    return address[:start] + rest, parameters, list(_split_settings(options))


def _split_settings(options: str) -> Iterator[str]:
    """Yield `name=value` for each -c or -- of a server command line; a backslash escapes one character."""
    words = iter(re.sub(r"\\(.)", r"\1", word, flags=re.S) for word in WORD.findall(options))
    for word in words:
        setting = next(words, "") if word == "-c" else word[2:]
        if word[:2] not in ("-c", "--") or "=" not in setting:
            raise RequestError(
                "The options of a PostgreSQL address can only set parameters.",
                hint="Write them as options=-cNAME%3DVALUE, or leave them out; see PGOPTIONS, too.",
            )
        yield setting


def _parse_setting_name(setting: str) -> str:
    return setting.partition("=")[0].replace("-", "_").lower()
