"""BVH: a hierarchy of named joints with listed channels, then one line of numbers a frame.

A joint's rotation channels are a matrix product in the order listed, in degrees; position channels take the
offset's place. What writers vary (case of keywords, blanks, line ends, positions on any joint, several roots,
scale channels, joint names with blanks, two joints of one name) is read; docs/formats/bvh.md has the rules.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kinepack.errors import FormatError
from kinepack.formats.base import FORMATS, Format, ReadOptions, Source, WriteOptions, Written
from kinepack.formats.text import (
    BLANK,
    integer,
    lines_of,
    model_errors,
    number,
    number_text,
    numbers_text,
    option_frame_time,
    plain_euler,
    safe_name,
    shown,
    single_clip,
    stem_of,
    table,
    vector,
)
from kinepack.limits import Limits
from kinepack.model import Channel, Clip, Joint, Model, Skeleton
from kinepack.model.skeleton import Vector

_LETTERS = {"position": "t", "rotation": "r", "scale": "s"}
_KINDS = {f"{axis}{what}": letter + axis for what, letter in _LETTERS.items() for axis in "xyz"}
_WORDS = {kind: word.capitalize() for word, kind in _KINDS.items()}
_FRAMES = re.compile(r"frames\s*:\s*(\S+)", re.IGNORECASE)
_FRAME_TIME = re.compile(r"frame\s*time\s*:\s*(\S+)", re.IGNORECASE)
_NAME_NOTE, _END_NOTE = "bvh.name.", "bvh.end."

Statement = tuple[int, str, str]
"""Line number, keyword in lower case, the rest of the line."""


@dataclass
class _Node:
    """A joint or end site while its block is open."""

    name: str
    parent: int
    line: int
    is_end: bool = False
    offset: Vector | None = None
    kinds: tuple[str, ...] = ()
    sites: list[Vector] = field(default_factory=list)
    site_names: list[str] = field(default_factory=list)


# Reading.


def read(source: Source, options: ReadOptions) -> list[Model]:
    """The one clip of a BVH file; its name is the file's stem."""
    file = source.name
    lines = lines_of(source.read(), file, options.limits)
    nodes, motion = _read_hierarchy(lines, file, options.limits)
    with model_errors(file):
        skeleton = _skeleton(nodes, options)
    frames, frame_time, first, line = _read_motion_head(lines, motion, file, options)
    values = _read_frames(lines, first, frames, len(skeleton.channels), file, options.limits)
    with model_errors(file, line):
        return [Clip(skeleton, values, frame_time, stem_of(file))]


def _statements(lines: Sequence[str]) -> Iterator[Statement]:
    """Braces and keywords, one at a time. A brace counts at a line's start, or at its end after a blank."""
    for index, raw in enumerate(lines, 1):
        text = raw.strip(BLANK)
        while text[:1] in ("{", "}"):
            yield index, text[0], ""
            text = text[1:].strip(BLANK)
        closing = ""
        while text and text[-1] in "{}" and text[-2:-1] in tuple(BLANK):
            closing, text = text[-1] + closing, text[:-1].rstrip(BLANK)
        if text:
            keyword = re.split(f"[{BLANK}]", text, maxsplit=1)[0]
            yield index, keyword.lower(), text[len(keyword) :].strip(BLANK)
        for brace in closing:
            yield index, brace, ""


def _read_hierarchy(lines: Sequence[str], file: str, limits: Limits) -> tuple[list[_Node], int]:
    """The joints in file order, and the index of the line after MOTION."""
    statements = _statements(lines)
    first = next(statements, (1, "", ""))
    if first[1] != "hierarchy":
        raise FormatError("a BVH file starts with HIERARCHY", file=file, line=first[0])
    nodes: list[_Node] = []
    stack: list[tuple[int, _Node]] = []
    blocks = 0
    opened: _Node | None = None  # a joint whose "{" has not come yet
    for line, keyword, rest in statements:
        if opened is not None:
            if keyword != "{":
                raise FormatError(f"'{{' is needed after {shown(opened.name)}", file=file, line=line)
            if not opened.is_end:
                nodes.append(opened)
            stack.append((len(nodes) - 1, opened))
            opened = None
        elif keyword == "}":
            _close(stack, nodes, file, line)
        elif keyword == "motion" and not stack:
            return nodes, line
        elif keyword in ("root", "joint", "end"):
            opened = _open(keyword, rest, stack, file, line)
            blocks = limits.charge("joints", blocks + 1)
        else:
            _describe(stack[-1][1] if stack else None, keyword, rest, file, line)
    raise FormatError("the file ends before MOTION", file=file, line=len(lines))


def _open(keyword: str, rest: str, stack: list[tuple[int, _Node]], file: str, line: int) -> _Node:
    if (keyword == "root") == bool(stack) or (stack and stack[-1][1].is_end):
        raise FormatError(f"{keyword.upper()} is not allowed here", file=file, line=line)
    if keyword == "end":
        name = rest[4:].strip(BLANK) if rest[:4].lower() == "site" else rest
        return _Node(name, stack[-1][0], line, is_end=True)
    return _Node(rest, stack[-1][0] if stack else -1, line)


def _close(stack: list[tuple[int, _Node]], nodes: list[_Node], file: str, line: int) -> None:
    if not stack:
        raise FormatError("'}' closes nothing", file=file, line=line)
    _, node = stack.pop()
    if node.offset is None:
        raise FormatError(f"{shown(node.name or 'the end site')} has no OFFSET", file=file, line=line)
    if node.is_end:
        nodes[node.parent].sites.append(node.offset)
        nodes[node.parent].site_names.append(node.name)


def _describe(node: _Node | None, keyword: str, rest: str, file: str, line: int) -> None:
    """OFFSET and CHANNELS, once each."""
    tokens = rest.split()
    if node is None or keyword not in ("offset", "channels"):
        raise FormatError(f"{shown(keyword.upper())} is not allowed here", file=file, line=line)
    if keyword == "offset":
        if node.offset is not None:
            raise FormatError("a second OFFSET", file=file, line=line)
        node.offset = vector(tokens, file, line)
        return
    if node.kinds or node.is_end or not tokens:
        raise FormatError("CHANNELS is not allowed here", file=file, line=line)
    kinds = tuple(_KINDS.get(token.lower(), "") for token in tokens[1:])
    if "" in kinds:
        raise FormatError(f"{shown(tokens[1 + kinds.index('')])} is not a channel", file=file, line=line)
    if integer(tokens[0], file, line) != len(kinds) or len(set(kinds)) != len(kinds):
        raise FormatError(f"{shown(tokens[0])} different channels are promised", file=file, line=line)
    node.kinds = kinds


def _skeleton(nodes: list[_Node], options: ReadOptions) -> Skeleton:
    names, notes = _unique_names([node.name for node in nodes])
    joints, channels = [], []
    for index, (node, name) in enumerate(zip(nodes, names, strict=True)):
        turns = "".join(kind[1] for kind in node.kinds if kind[0] == "r")
        order = turns + "".join(axis for axis in "xyz" if axis not in turns)
        offset, sites = node.offset or (0.0, 0.0, 0.0), tuple(node.sites)
        joints.append(Joint(name, node.parent, offset, order, end_sites=sites))
        channels += [Channel(index, kind) for kind in node.kinds]
        if any(node.site_names):
            notes[_END_NOTE + name] = json.dumps(node.site_names)
    options.limits.charge("channels", len(channels))
    unit_cm = 1.0 if options.unit_cm is None else options.unit_cm
    return Skeleton(tuple(joints), tuple(channels), float(unit_cm), notes=notes)


def _unique_names(names: list[str]) -> tuple[list[str], dict[str, str]]:
    """The second "Hand" becomes "Hand#2" (or the next free number); notes say what it was."""
    taken, seen, unique, notes = set(names), Counter[str](), [], dict[str, str]()
    for name in names:
        seen[name] += 1
        fresh = name
        while seen[name] > 1 and (fresh := f"{name}#{seen[name]}") in taken:
            seen[name] += 1
        taken.add(fresh)
        unique.append(fresh)
        if fresh != name:
            notes[_NAME_NOTE + fresh] = name
    return unique, notes


def _read_motion_head(lines: Sequence[str], start: int, file: str, options: ReadOptions) -> tuple[int, float, int, int]:
    """Frame count, frame time, the index of the first line of numbers, and the frame time's line."""
    found: list[tuple[int, str]] = []
    index = start
    for pattern, what in ((_FRAMES, "Frames:"), (_FRAME_TIME, "Frame Time:")):
        while index < len(lines) and not lines[index].strip():
            index += 1
        match = pattern.fullmatch(lines[index].strip()) if index < len(lines) else None
        if match is None:
            raise FormatError(f"'{what}' and a number are needed", file=file, line=min(index + 1, len(lines)))
        found.append((index + 1, match[1]))
        index += 1
    frames = integer(found[0][1], file, found[0][0])
    if frames < 1:
        raise FormatError("a clip needs at least one frame", file=file, line=found[0][0])
    frame_time = number(found[1][1], file, found[1][0])
    if frame_time == 0:  # some writers leave it out of single poses
        frame_time = option_frame_time(options, 0.0)
    return frames, frame_time, index, found[1][0]


def _read_frames(
    lines: Sequence[str], first: int, frames: int, width: int, file: str, limits: Limits
) -> NDArray[np.float64]:
    rows = [(line, tokens) for line, text in enumerate(lines[first:], first + 1) if (tokens := text.split())]
    if width and len(rows) != frames:
        line = rows[frames][0] if len(rows) > frames else len(lines)
        raise FormatError(f"{frames} frames are promised, {len(rows)} are there", file=file, line=line)
    limits.charge("frames", frames)
    limits.charge("values", frames * width)
    if not width:
        table(rows, 0, file)
        return np.zeros((frames, 0))
    return table(rows, width, file)


# Writing.


def write(models: Sequence[Model], stem: str, options: WriteOptions) -> Written:
    """One clip. Quaternions, rotation vectors, axis frames and radians become Euler degrees."""
    clip, lost = plain_euler(single_clip(models, "BVH"), "BVH")
    names, renamed = _written_names(clip.skeleton)
    children: dict[int, list[int]] = {}
    for index, joint in enumerate(clip.skeleton.joints):
        children.setdefault(joint.parent, []).append(index)
    text, columns = ["HIERARCHY"], list[int]()
    for root in children.get(-1, []):
        _write_joint(clip.skeleton, root, children, names, text, columns)
    text += ["MOTION", f"Frames: {clip.frames}", f"Frame Time: {number_text(clip.frame_time)}"]
    text += [numbers_text(row) for row in clip.values[:, columns].tolist()]
    if any(channel.kind[0] == "s" for channel in clip.skeleton.channels):
        lost.append("scales are written as Xscale, Yscale and Zscale channels, which few readers know")
    if clip.unit_cm != 1:
        lost.append(f"the unit of length, {clip.unit_cm:.6g} cm: BVH has none, give it when reading")
    return Written({f"{stem}.bvh": ("\n".join(text) + "\n").encode()}, tuple(lost + renamed))


def _written_names(skeleton: Skeleton) -> tuple[list[str], list[str]]:
    """Names as the source had them; those that a line of BVH cannot hold are cleaned."""
    original = [skeleton.notes.get(_NAME_NOTE + joint.name, joint.name) for joint in skeleton.joints]
    taken, names, lost = set(original), [], []
    for name in original:
        clean = name
        if name != name.strip(BLANK) or re.search(r"[\r\n\0]|^[{}]|[{}]$", name):
            clean = safe_name(name.strip(BLANK), taken, r"[\r\n\0{}]")
            lost.append(f"joint {name!r} is written as {clean!r}")
        names.append(clean)
    return names, lost


def _write_joint(
    skeleton: Skeleton,
    root: int,
    children: dict[int, list[int]],
    names: list[str],
    text: list[str],
    columns: list[int],
) -> None:
    """Depth first without recursion, since chains may be long; None on the stack closes a block."""
    stack: list[tuple[int, int | None]] = [(0, root)]
    while stack:
        depth, index = stack.pop()
        tabs = "\t" * min(depth, 64)
        if index is None:
            text.append(tabs + "}")
            continue
        joint, own = skeleton.joints[index], _ordered_channels(skeleton, index)
        columns += own
        words = [_WORDS[skeleton.channels[column].kind] for column in own]
        keyword = "ROOT" if joint.parent < 0 else "JOINT"
        text += [
            f"{tabs}{keyword} {names[index]}",
            tabs + "{",
            f"{tabs}\tOFFSET {numbers_text(joint.offset)}",
        ]
        if words or joint.parent < 0:
            text.append(f"{tabs}\tCHANNELS {' '.join([str(len(words)), *words])}")
        text += _end_sites(skeleton, index, tabs + "\t")
        stack.append((depth, None))
        stack += [(depth + 1, child) for child in reversed(children.get(index, []))]


def _ordered_channels(skeleton: Skeleton, joint: int) -> list[int]:
    """A joint's channels as they come, but its rotations in the order of their matrix product."""
    own = skeleton.channels_of(joint)
    turns = iter(f"r{axis}" for axis in skeleton.joints[joint].order if f"r{axis}" in own)
    return [own[next(turns)] if kind[0] == "r" else index for kind, index in own.items()]


def _end_sites(skeleton: Skeleton, joint: int, tabs: str) -> list[str]:
    sites = skeleton.joints[joint].end_sites
    note = skeleton.notes.get(_END_NOTE + skeleton.joints[joint].name)
    names = _site_names(note, len(sites)) if note else [""] * len(sites)
    text = []
    for site, name in zip(sites, names, strict=True):
        title = f"{tabs}End Site {name}".rstrip(BLANK)
        text += [title, tabs + "{", f"{tabs}\tOFFSET {numbers_text(site)}", tabs + "}"]
    return text


def _site_names(note: str, count: int) -> list[str]:
    try:
        names = [str(name) for name in json.loads(note)]
    except (ValueError, TypeError):
        names = []
    return names if len(names) == count else [""] * count


FORMATS.add(
    "bvh",
    Format(id="bvh", title="Biovision BVH", extensions=(".bvh",), read=read, write=write, holds=(Clip,)),
)
