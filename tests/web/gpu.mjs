// Scenarios of meshes that a graphics processor decodes.

/** Vertices of some frames, computed in a vertex shader and read back. */
export async function gpuVertices(page, { url, library, files, frames }) {
  await page.goto(url);
  const results = await page.evaluate(
    async ([library, files, frames]) => {
      const { GpuDecoder, open } = await import(library);
      const plain = (array) => {
        const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
        let text = "";
        for (let i = 0; i < bytes.length; i += 8192) text += String.fromCharCode(...bytes.subarray(i, i + 8192));
        return btoa(text);
      };
      const found = [];
      for (const file of files) {
        try {
          const clip = await (await open(new URL(file, location.href).href)).clip(0);
          const decoder = await GpuDecoder.load(clip);
          const { planes, gl } = decoder;
          const vertices = frames.map((share) => plain(decoder.decode(share * (clip.frames - 1))));
          found.push({
            vertices, bytes: planes.bytes, rawBytes: clip.rawBytes, components: 4 * planes.quads,
            size: [planes.fixed.width, planes.fixed.height], fault: gl.getError(),
          });
          decoder.dispose();
          gl.getExtension("WEBGL_lose_context")?.loseContext();
        } catch (error) {
          found.push({ error: String(error), kind: error.kind });
        }
      }
      return found;
    },
    [library, files, frames],
  );
  return { results };
}

/** The same mesh drawn twice by three.js, decoded by the graphics processor and by the processor. */
export async function gpuPictures(page, { url, loader, file, seconds, shadow = false, flat = false }) {
  await page.goto(url);
  return page.evaluate(
    async ([loader, file, seconds, shadow, flat]) => {
      const THREE = await import(loader);
      const { KineLoader, AnimationMixer, Box3, PerspectiveCamera, Scene, Vector3, WebGLRenderer } = THREE;
      const size = 400;
      const drawn = {};
      for (const kind of ["gpu", "cpu"]) {
        const canvas = document.body.appendChild(document.createElement("canvas"));
        const renderer = new WebGLRenderer({ canvas, antialias: true, preserveDrawingBuffer: true });
        renderer.setSize(size, size);
        renderer.shadowMap.enabled = shadow;
        const reader = new KineLoader();
        reader.gpu = kind === "gpu";
        const { clip, root, mesh } = await reader.loadAsync(file);
        if (flat) mesh.material = new THREE.MeshPhongMaterial({ color: 0x88bb55, flatShading: true });
        const scene = new Scene();
        const sun = new THREE.DirectionalLight(0xffffff, 3);
        sun.position.set(1, 3, 2);
        scene.add(root, sun, new THREE.AmbientLight(0xffffff, 0.6));
        const mixer = new AnimationMixer(root);
        mixer.clipAction(clip).play();
        mixer.setTime(seconds);
        root.updateMatrixWorld(true);
        const box = new Box3().setFromObject(root);
        const middle = box.getCenter(new Vector3());
        const far = box.getSize(new Vector3()).length();
        if (shadow) {
          mesh.castShadow = sun.castShadow = true;
          sun.position.multiplyScalar(far).add(middle);
          sun.target.position.copy(middle);
          scene.add(sun.target);
          Object.assign(sun.shadow.camera, { left: -far, right: far, top: far, bottom: -far, near: 0.01, far: 8 * far });
          const floor = new THREE.Mesh(new THREE.PlaneGeometry(8 * far, 8 * far), new THREE.MeshStandardMaterial());
          floor.rotation.x = -Math.PI / 2;
          floor.position.y = box.min.y - 0.1 * far;
          floor.receiveShadow = true;
          scene.add(floor);
        }
        const camera = new PerspectiveCamera(35, 1, far / 100, far * 100);
        camera.position.copy(middle).add(new Vector3(0.9, 0.6, 1.2).multiplyScalar(far));
        camera.lookAt(middle);
        renderer.render(scene, camera);
        const gl = renderer.getContext();
        const pixels = new Uint8Array(4 * size * size);
        gl.readPixels(0, 0, size, size, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
        const points = Array.from({ length: mesh.topology.vertices }, (_, v) => mesh.getVertexPosition(v, new Vector3()).toArray());
        const ray = new THREE.Raycaster(camera.position, middle.clone().sub(camera.position).normalize());
        drawn[kind] = {
          pixels, points, hits: ray.intersectObject(root).map(({ distance }) => distance), kind: mesh.source.kind,
          bytes: mesh.source.bytes, programs: renderer.info.programs.length, textures: renderer.info.memory.textures,
          sphere: mesh.boundingSphere ? [...mesh.boundingSphere.center.toArray(), mesh.boundingSphere.radius] : null,
        };
        mesh.dispose();
        drawn[kind].left = renderer.info.memory.textures;
      }
      let [lit, sum, unlike] = [0, 0, 0];
      const [a, b] = [drawn.gpu.pixels, drawn.cpu.pixels];
      for (let i = 0; i < a.length; i += 4) {
        const away = Math.max(...[0, 1, 2].map((n) => Math.abs(a[i + n] - b[i + n])));
        if (a[i] + a[i + 1] + a[i + 2] > 30) lit++;
        if (away > 24) unlike++;
        sum += away;
      }
      for (const one of Object.values(drawn)) delete one.pixels;
      return { ...drawn, lit, unlike, mean: sum / (a.length / 4) };
    },
    [loader, file, seconds, shadow, flat],
  );
}

/** A mesh drawn while it arrives: what is uploaded piece by piece is in the end what is uploaded at once. */
export async function gpuStreaming(page, { url, loader, file, rate }) {
  await page.goto(url);
  const session = await page.context().newCDPSession(page);
  await session.send("Network.enable");
  const throttle = (downloadThroughput) =>
    session.send("Network.emulateNetworkConditions", { offline: false, latency: 0, downloadThroughput, uploadThroughput: -1 });
  await page.evaluate(async (loader) => (window.modules = await import(loader)), loader);
  await throttle(rate);
  return page.evaluate(async (file) => {
    const { AmbientLight, Box3, DirectionalLight, KineLoader, PerspectiveCamera, Scene, Vector3, WebGLRenderer } = window.modules;
    const size = 200;
    const renderer = new WebGLRenderer({ preserveDrawingBuffer: true });
    renderer.setSize(size, size);
    document.body.append(renderer.domElement);
    const picture = (root, camera) => {
      const scene = new Scene().add(root, new AmbientLight(), new DirectionalLight(0xffffff, 2));
      renderer.render(scene, camera);
      const pixels = new Uint8Array(4 * size * size);
      renderer.getContext().readPixels(0, 0, size, size, renderer.getContext().RGBA, renderer.getContext().UNSIGNED_BYTE, pixels);
      return pixels;
    };
    const reader = new KineLoader();
    reader.options = { firstRequest: 4096 };
    reader.streaming = true;
    const { mesh, complete, source } = await reader.loadAsync(file);
    let done = false;
    void complete.then(() => (done = true));
    await Promise.resolve();
    const early = !done;
    const point = () => mesh.getVertexPosition(0, new Vector3()).toArray();
    const first = point();
    mesh.frame = source.frames - 1; // not here yet
    const held = point();
    const box = new Box3().setFromObject(mesh);
    const camera = new PerspectiveCamera(35, 1, 0.01, 1000);
    camera.position.copy(box.getCenter(new Vector3())).add(new Vector3(0.9, 0.6, 1.2).multiplyScalar(box.getSize(new Vector3()).length()));
    camera.lookAt(box.getCenter(new Vector3()));
    let drawings = 0;
    while (!done) {
      picture(mesh, camera);
      drawings++;
      await new Promise(requestAnimationFrame);
    }
    const last = point();
    mesh.frame = source.frames / 2;
    const [piecewise, ranges] = [picture(mesh, camera), source.runs.length];
    const whole = (await new KineLoader().loadAsync(file)).mesh;
    whole.frame = source.frames / 2;
    const atOnce = picture(whole, camera);
    const lost = renderer.getContext().getExtension("WEBGL_lose_context");
    const event = (name) => new Promise((resolve) => renderer.domElement.addEventListener(name, () => setTimeout(resolve)));
    const gone = event("webglcontextlost");
    lost.loseContext();
    await gone;
    const restored = event("webglcontextrestored");
    lost.restoreContext();
    await restored;
    const again = picture(mesh, camera);
    const unlike = (other) => piecewise.reduce((sum, value, i) => sum + Number(value !== other[i]), 0);
    return {
      early, first, held, last, drawings, ranges, lit: piecewise.filter((v, i) => i % 4 < 3 && v > 20).length,
      unlike: unlike(atOnce), unlikeAfterLoss: unlike(again),
    };
  }, file);
}

/** The player on a device whose graphics processor refuses the shader. */
export async function gpuRefused(page, { url }) {
  await page.addInitScript(() => {
    const { shaderSource } = WebGL2RenderingContext.prototype;
    WebGL2RenderingContext.prototype.shaderSource = function (shader, text) {
      shaderSource.call(this, shader, text.includes("kineVertex") ? `${text}\n#error refused` : text);
    };
  });
  await page.goto(url);
  await page.waitForFunction(() => window.kinepack?.loaded?.copy.stream.complete, null, { timeout: 20_000 });
  await page.waitForFunction(() => document.getElementById("held").innerText.includes("CPU"), null, { timeout: 20_000 });
  await page.evaluate(() => {
    window.kinepack.playing = false;
    window.kinepack.seek(40);
  });
  await page.waitForTimeout(500);
  return { held: await page.locator("#held").innerText(), message: await page.evaluate(() => window.kinepack.message) };
}
