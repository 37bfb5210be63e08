"""`segment`: the parts of an animated mesh that move together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kinepack.cli import options as o
from kinepack.cli.console import emit_json, progress, say
from kinepack.cli.places import Reading, check_output

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from kinepack.model import MeshSequence

Clusters = Annotated[int, typer.Option("-k", min=1, max=4096, help="Number of clusters.")]
Components = Annotated[int, typer.Option("-c", min=1, max=1024, help="Components of each cluster.")]
Output = Annotated[
    Path, typer.Option("--output", "-o", metavar="FILE.glb", help="Coloured mesh, or NPZ with the clusters.")
]
Picture = Annotated[
    Path | None,
    typer.Option("--picture", metavar="FOLDER", help="Draw frames, errors and their course there.", show_default=False),
]
Starts = Annotated[int, typer.Option("--starts", min=1, max=1000, help="Runs, each with other first centres.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Of the first centres.")]


def segment(
    source: o.Input,
    output: Output,
    k: Clusters = 6,
    c: Components = 5,
    starts: Starts = 5,
    seed: Seed = 0,
    picture: Picture = None,
    json: o.Json = False,
) -> None:
    """Colour the parts of an animated mesh that move together.

    Clustered PCA of the vertices' paths. A .glb gets a colour for each vertex, an .npz an array `clusters` too.

    Examples:
    kinepack segment fish.npz -k 6 -o parts.glb
    kinepack segment fish.npz -k 6 -o parts.npz --picture pictures/
    """
    from kinepack.container.writer import write_atomically
    from kinepack.errors import UsageError
    from kinepack.model import MeshSequence
    from kinepack.report.segmentation import segment as find

    check_output(output, ".glb", ".npz")
    with progress("Reading"):
        mesh = Reading(mesh=True).read(source, None)
    if not isinstance(mesh, MeshSequence):
        raise UsageError("only an animated mesh can be segmented", hint="kinepack sample fish -o fish.npz")
    with progress("Clustering") as step:
        index = find(mesh, k, c=c, starts=starts, seed=seed, progress=step)
    write_atomically(output, _file(mesh, index, output.suffix.lower()))
    sizes = [int((index == j).sum()) for j in range(int(index.max()) + 1)]
    if picture is not None:
        with progress("Drawing"):
            _draw(mesh, index, k, c, picture)
    if json:
        emit_json({"output": str(output), "clusters": len(sizes), "vertices": sizes})
    else:
        say(f"{output}: {len(sizes)} clusters of {', '.join(map(str, sizes))} vertices")


def _file(mesh: MeshSequence, index: NDArray[np.int32], suffix: str) -> bytes:
    import io

    import numpy as np

    from kinepack.formats.gltf_colours import coloured_mesh
    from kinepack.report.segmentation import cluster_colours

    if suffix == ".glb":
        return coloured_mesh(mesh, cluster_colours(index))
    buffer = io.BytesIO()
    fields: dict[str, Any] = {"frame_time": mesh.frame_time, "fps": mesh.fps, "name": mesh.name}
    np.savez_compressed(buffer, vertices=mesh.vertices, faces=mesh.faces, clusters=index, **fields)
    return buffer.getvalue()


def _draw(mesh: MeshSequence, index: NDArray[np.int32], k: int, c: int, folder: Path) -> None:
    from kinepack.codecs.mesh_cpca import MeshCpca
    from kinepack.container.writer import write_atomically
    from kinepack.model import MeshSequence
    from kinepack.report.segmentation import clusters_png, d_f_png, error_scale, errors_png

    copies = {}
    for components, bits in ((max(c // 2, 1), 18), (c, 18), (2 * c, 18), (2 * c, 12), (2 * c, 10)):
        codec = MeshCpca(k=k, c=components, q_c=bits, q_w=bits, starts=1)
        copy = codec.decode(codec.encode(mesh))
        assert isinstance(copy, MeshSequence)
        copies[f"c = {components}, {bits} bits"] = copy
    frame = mesh.frames // 2
    most = error_scale(mesh, copies.values(), frame)
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / "clusters.png", clusters_png(mesh, index))
    write_atomically(folder / "errors.png", errors_png(mesh, copies, frame, most))
    write_atomically(folder / "d_f.png", d_f_png(mesh, copies))
