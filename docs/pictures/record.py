"""Records a command's output, and draws it as an animated SVG of a terminal.

python3 docs/pictures/record.py --out docs/pictures/demo.svg -- ./shardtide demo --seconds 45

Lines appear in the order and at the speed of the recording; pauses are cut to --pause seconds. With --text FILE it
also writes the recording, a line each with its seconds, and with --from FILE it draws such a file and runs nothing.
"""

from __future__ import annotations

import argparse
import html
import subprocess
import sys
import time
from pathlib import Path

ROWS = 26
COLUMNS = 110
LINE_PX = 17
CHARACTER_PX = 7.83
MARGIN_PX = 12
BAR_PX = 28
HOLD_SECONDS = 6.0


def record(command: list[str]) -> list[tuple[float, str]]:
    """Runs the command to its end; returns each line of its output with the seconds at which it came."""
    began = time.monotonic()
    lines = [(0.0, "$ " + " ".join(command[:2]))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout
        for line in process.stdout:
            lines.append((time.monotonic() - began, line.rstrip("\n")))
    return lines


def appearing(lines: list[tuple[float, str]], pause: float) -> list[float]:
    """Returns the second at which each line appears, with pauses of at most so many seconds."""
    seconds, last, now = [], lines[0][0], 0.0
    for came, _ in lines:
        now += min(came - last, pause)
        last = came
        seconds.append(now)
    return seconds


def steps(name: str, seconds: list[float], total: float, pixels: list[int]) -> str:
    """Returns keyframes that jump to each line's position when it appears."""
    frames = {0.0: pixels[0]}
    for second, position in zip(seconds, pixels):
        frames[round(100 * second / total, 2)] = position
    kept, previous = [], None
    for percent, position in sorted(frames.items()):
        if position != previous:
            kept.append(f"{percent:g}%{{transform:translateY({position}px)}}")
        previous = position
    kept.append(f"100%{{transform:translateY({pixels[-1]}px)}}")
    return f"@keyframes {name}{{{''.join(kept)}}}"


def draw(lines: list[tuple[float, str]], pause: float) -> str:
    """Returns the SVG."""
    seconds = appearing(lines, pause)
    total = seconds[-1] + HOLD_SECONDS
    shown = range(1, len(lines) + 1)
    scroll = [-LINE_PX * max(0, count - ROWS) for count in shown]
    cover = [LINE_PX * count for count in shown]
    width = round(COLUMNS * CHARACTER_PX + 2 * MARGIN_PX)
    height = ROWS * LINE_PX
    texts = "\n".join(
        f'<text x="{MARGIN_PX}" y="{LINE_PX * index + 13}">{html.escape(line[:COLUMNS], quote=False)}</text>'
        for index, (_, line) in enumerate(lines)
        if line
    )
    return f"""<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height + BAR_PX + 2 * MARGIN_PX}">
<title>{html.escape(lines[0][1], quote=False)}</title>
<style>
text{{font:13px ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#d6deeb;white-space:pre}}
{steps("scroll", seconds, total, scroll)}
{steps("cover", seconds, total, cover)}
#lines{{animation:scroll {total:.1f}s step-end infinite}}
#cover{{animation:cover {total:.1f}s step-end infinite}}
@media (prefers-reduced-motion:reduce){{#lines{{animation:none;transform:translateY({scroll[-1]}px)}}
#cover{{animation:none;transform:translateY({cover[-1]}px)}}}}
</style>
<rect width="100%" height="100%" rx="8" fill="#0b1622"/>
<circle cx="18" cy="14" r="5" fill="#3b4b5e"/><circle cx="34" cy="14" r="5" fill="#3b4b5e"/>
<circle cx="50" cy="14" r="5" fill="#3b4b5e"/>
<svg y="{BAR_PX + MARGIN_PX // 2}" width="{width}" height="{height + 4}"><g id="lines">
{texts}
<rect id="cover" width="{width}" height="{LINE_PX * len(lines) + height}" fill="#0b1622"/>
</g></svg>
</svg>
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="the SVG")
    parser.add_argument("--pause", type=float, default=1.2, help="longest pause, in seconds (default: 1.2)")
    parser.add_argument("--text", type=Path, help="where to write the recording too")
    parser.add_argument("--from", dest="source", type=Path, help="a recording to draw")
    parser.add_argument("command", nargs="*", help="what to run")
    arguments = parser.parse_args()
    if bool(arguments.source) == bool(arguments.command):
        sys.exit("record.py: either a command or --from is needed")
    if arguments.source:
        rows = [row.split("\t", 1) for row in arguments.source.read_text(encoding="utf-8").splitlines()]
        lines = [(float(second), line) for second, line in rows]
    else:
        lines = record(arguments.command)
    if arguments.text:
        arguments.text.write_text("".join(f"{second:.2f}\t{line}\n" for second, line in lines), encoding="utf-8")
    arguments.out.write_text(draw(lines, arguments.pause), encoding="utf-8")
    print(f"{arguments.out}: {len(lines)} lines, {arguments.out.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
