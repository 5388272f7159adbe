"""Whether a path lies in a folder, as far as its letters tell. The files may be on another machine."""

import re
from posixpath import normpath
from urllib.parse import unquote, urlsplit

_DRIVE = re.compile(r"[A-Za-z]:")


def lies_in_one(path: str, roots: tuple[str, ...]) -> bool | None:
    """Whether a path lies in one of some folders; None: nobody can tell."""
    found = {lies_in(path, root) for root in roots}
    return True if True in found else None if None in found else False


def lies_in(path: str, root: str) -> bool | None:
    """Whether a path lies in `root`, by its letters: `..` is followed, links are not. None: the letters do not tell.

    A relative path begins in an absolute root, and where a relative one begins, too. What names another place only to
    those who know more (`~`, `$HOME`, `%TEMP%`, `C:a`, a NUL) nobody can tell.
    """
    path = path.strip()
    if path.startswith("file:"):
        path = unquote(urlsplit(path).path)
    elif "://" in path:
        return False
    if path.startswith(("~", "$", "%")) or "\0" in path:
        return None
    slashed, root = path.replace("\\", "/"), root.replace("\\", "/")
    if _DRIVE.match(root):
        return _on_drive(slashed.lower(), root.lower())
    if _DRIVE.match(path):
        return None
    # A backslash parts folders or is a letter: that depends on the machine.
    found = {_beneath(slashed, root), _beneath(path, root)}
    return found.pop() if len(found) == 1 else None


def _on_drive(path: str, root: str) -> bool | None:
    """`lies_in` for a root with a drive letter, where capitals do not count."""
    if not _DRIVE.match(path):
        return None if path.startswith("/") else _beneath(path, root[2:])
    if path[2:3] != "/":
        return None
    return path[0] == root[0] and _beneath(path[2:], root[2:])


def _beneath(path: str, root: str) -> bool | None:
    """Whether a path of `/` and names lies in another."""
    root = normpath(root).replace("//", "/")
    if not root.startswith("/"):
        if path.startswith("/"):
            return None
        whole = normpath(path)
        return whole == root or (root == "." and whole.partition("/")[0] != "..") or whole.startswith(f"{root}/")
    whole = normpath(path if path.startswith("/") else f"{root}/{path}").replace("//", "/")
    return whole == root or whole.startswith(root.rstrip("/") + "/")
