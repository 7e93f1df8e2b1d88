// Python, in a worker thread: the page stays usable, and can stop what does not end.
"use strict";
let evaluate;

async function load(base) {
  importScripts(new URL("pyodide.js", base).href);
  const python = await loadPyodide({ indexURL: new URL(".", base).href });
  const files = await (await fetch(new URL("files.json", base))).json();
  const archives = await Promise.all(
    files.archives.map(async (name) => (await fetch(new URL(name, base))).arrayBuffer()),
  );
  const site = python.runPython("import site; site.getsitepackages()[0]");
  for (const archive of archives) {
    python.unpackArchive(archive, "zip", { extractDir: site });
  }
  evaluate = python.pyimport("evaluate").evaluate;
}

self.onmessage = async ({ data }) => {
  try {
    if (data.base) {
      await load(data.base);
      postMessage({ ready: true });
    } else {
      postMessage({ shown: evaluate(data.source) });
    }
  } catch (error) {
    postMessage({ failure: String(error.message ?? error) });
  }
};
