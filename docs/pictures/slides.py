"""Makes the README's moving picture from the screenshots that the tests of the dashboard write.

mvn verify -Dit.test=DashboardPagesIT -Dsurefire.skip
python3 docs/pictures/slides.py

It needs Pillow.
"""

from __future__ import annotations

from pathlib import Path

from PIL import Image

VIEWS = ("overview", "workload", "slow", "compare", "why", "learning")
SCREENSHOTS = Path("target/dashboard")
OUT = Path("docs/pictures/dashboard.gif")
WIDTH = 800
COLOURS = 32
MILLISECONDS = 3_000


def main() -> None:
    frames = []
    for view in VIEWS:
        shot = Image.open(SCREENSHOTS / f"{view}-light.png").convert("RGB")
        small = shot.resize((WIDTH, WIDTH * shot.height // shot.width), Image.Resampling.LANCZOS)
        frames.append(small.quantize(COLOURS, dither=Image.Dither.NONE))
    frames[0].save(OUT, save_all=True, append_images=frames[1:], duration=MILLISECONDS, loop=0, optimize=True)
    print(f"{OUT}: {len(frames)} views, {OUT.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
