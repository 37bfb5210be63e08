"""The npm package as a stranger's project has it: packed, unpacked, type-checked, bundled, run."""

from __future__ import annotations

import re
import subprocess
import tarfile
from pathlib import Path

import numpy as np
import pytest
from web_support import WEB, Scenario, library_paths, run_scenario, serving

import kinepack
from kinepack.math.kinematics import forward_kinematics
from kinepack.samples import human

__all__ = ["run_scenario"]

SECONDS = 1.0
APPLICATION = """
import {{ AnimationMixer, Scene, Vector3 }} from "three";
import {{ KineLoader, type KineResult }} from "kinepack/three";
import {{ type KineClip, open }} from "kinepack";

const scene = new Scene();
{example}
mixer.setTime({seconds});
scene.updateMatrixWorld(true);
const loaded: KineResult = await new KineLoader().loadAsync("walk.kine");
const plain: KineClip = await (await open("walk.kine")).clip(0);
const bones = root.children[0]!;
const places: number[][] = [];
bones.traverse((bone) => places.push(bone.getWorldPosition(new Vector3()).toArray()));
Object.assign(window, {{ found: {{ places, frames: plain.frames, bones: loaded.skeleton?.bones.length }} }});
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, run_scenario: Scenario) -> Path:
    """A folder with the packed package and three.js installed, and an application of the README's lines."""
    folder = tmp_path_factory.mktemp("project")
    pack = ["npm", "pack", "--silent", "--pack-destination", str(folder)]
    name = subprocess.run(pack, cwd=WEB, check=True, capture_output=True, text=True).stdout.strip()
    with tarfile.open(folder / name) as archive:
        archive.extractall(folder / "unpacked", filter="data")
    modules = folder / "node_modules"
    modules.mkdir()
    (folder / "unpacked" / "package").rename(modules / "kinepack")
    for dependency in ("three", "@types"):
        (modules / dependency).symlink_to(WEB / "node_modules" / dependency)
    (folder / "main.ts").write_text(APPLICATION.format(example=example(), seconds=SECONDS), encoding="utf-8")
    return folder


def example() -> str:
    """The three lines of the package's README that play a file."""
    text = (WEB / "README.md").read_text(encoding="utf-8")
    block = re.search(r"```js\n(.*?)```", text, re.DOTALL)
    assert block is not None
    lines = [line for line in block[1].splitlines() if line and not line.startswith("import")]
    assert len(lines) == 3
    return "\n".join(lines)


def test_holds_what_it_should(project: Path) -> None:
    package = project / "node_modules" / "kinepack"
    for name in ("README.md", "package.json", "dist/LICENSE", "dist/licences.txt", "dist/kinepack.js", "dist/three.js"):
        assert (package / name).is_file(), name
    assert not any((package / place).exists() for place in ("dist/types/player", "dist/types/serve", "src"))


@pytest.mark.parametrize("resolution", ["bundler", "node16"])
def test_types(project: Path, resolution: str) -> None:
    module = "node16" if resolution == "node16" else "esnext"
    (project / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    command = [
        str(WEB / "node_modules" / ".bin" / "tsc"), "--noEmit", "--strict", "--target", "es2022",
        "--module", module, "--moduleResolution", resolution, "--lib", "es2022,dom", "main.ts",
    ]  # fmt: skip
    done = subprocess.run(command, cwd=project, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_three_lines_play(project: Path, run_scenario: Scenario) -> None:
    bundle = [str(WEB / "node_modules" / ".bin" / "esbuild"), "main.ts", "--bundle", "--format=esm"]
    code = subprocess.run([*bundle, "--target=es2022"], cwd=project, check=True, capture_output=True).stdout
    clip = human()
    files = {"main.js": code, "walk.kine": kinepack.compress(clip, "raw")}
    with serving(library_paths(files)) as address:
        found = run_scenario("application", url=f"{address}blank.html", script="/main.js")
    frame = round(SECONDS / clip.frame_time)
    origins = forward_kinematics(clip).origins[frame] * clip.unit_cm / 100
    assert found["frames"] == clip.frames and found["bones"] == len(origins)
    places = np.array(sorted(found["places"]))
    assert np.abs(places - np.array(sorted(origins.tolist()))).max() < 1e-5
    assert not found["faults"]
