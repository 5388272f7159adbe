"""The dialects that one reading of a configuration brings."""

from pathlib import Path

from toolcalls.dialects import OwnName, all_dialects
from toolcalls.own_dialects.form_file import check_name, form_in
from toolcalls.own_dialects.installed import installed


class Loading:
    """Finds them for `config.load`. Each file is read once; a name belongs to one form."""

    def __init__(self) -> None:
        self._known: dict[tuple[Path, str | None], str] = {}
        self._forms: dict[str, str] = {}

    def in_file(self, path: Path, name: str | None) -> str:
        found = self._known.get((path, name))
        if found is None:
            wrong = None if name is None else check_name(name, all_dialects())
            if wrong is not None:
                raise ValueError(wrong)
            found = self._known[path, name] = self._one(form_in(path, all_dialects(), name), str(path))
        return found

    def installed(self, name: str) -> str | None:
        found = installed(name, all_dialects())
        return None if found is None else self._one(found, f"the installed dialect {name}")

    def _one(self, found: OwnName, source: str) -> str:
        """The name, which no other form of this configuration has."""
        if self._forms.setdefault(str(found), found) != found:
            raise ValueError(f"{source}: another form of this configuration is named {found}; expected another name")
        return self._forms[str(found)]
