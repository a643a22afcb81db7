"""Prints the reference of the Python client, as the manual has it: its classes and functions with their docstrings."""

import inspect
import re

import lake_data_service
from lake_data_service import values


def prose(thing):
    text = inspect.cleandoc(thing.__doc__ or "")
    return re.sub(r"``([^`]*)``", r"`\1`", text)


def signature(name, function):
    shown = inspect.signature(function)
    parameters = [p for p in shown.parameters.values() if p.name != "self"]
    # Annotations are texts, and are shown in quotes.
    text = re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(shown.replace(parameters=parameters)))
    return f"`{name}{text}`"


def members(owner):
    return [(signature(name, member), member) for name, member in vars(owner).items() if inspect.isfunction(member) and name[0] != "_"]


print("## Connecting\n")
print(f"{signature('connect', lake_data_service.connect)}\n\n{prose(lake_data_service.connect)}\n")
for owner in (lake_data_service.Lake, lake_data_service.Pool, lake_data_service.Branch, lake_data_service.Query):
    print(f"## {owner.__name__}\n\n{prose(owner)}\n\n| Method | What |\n|---|---|")
    for head, member in members(owner):
        print(f"| {head.replace('|', chr(92) + '|')} | {' '.join(prose(member).split())} |")
    print()
print("## Values\n\n| Type | Python |\n|---|---|")
for line in values.__doc__.splitlines():
    cells = re.split(r"\s{2,}", line.strip())
    if len(cells) == 2 and not cells[0].startswith("=") and cells[0] != "type":
        print(f"| {prose(type('', (), {'__doc__': cells[0]}))} | {prose(type('', (), {'__doc__': cells[1]}))} |")
print()
for name in ("Event", "Committed", "Preview", "LakeError"):
    owner = getattr(lake_data_service, name)
    print(f"## {name}\n\n{prose(owner)}\n")
print("| Error | When |\n|---|---|")
for name in ("Invalid", "Denied", "NotFound", "Conflict", "Unavailable", "AnswerCut"):
    print(f"| `{name}` | {' '.join(prose(getattr(lake_data_service, name)).split())} |")
