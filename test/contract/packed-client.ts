import { execFile } from 'node:child_process';
import { cp, mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

const exec = promisify(execFile);
const root = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));

/** Files of the repository that `npm pack ./ops/client` needs. */
const sources = ['package.json', 'package-lock.json', 'tsconfig.json', 'ops/client', 'ops/cli'];
const tools = ['ops/tools/build-client.ts', 'ops/guides/client.md'];

/**
 * Packs the client as its users do, in a copy of the sources, and installs the package in a project of its own without a registry.
 * The pack is not the first one in the copy, and the one before was killed.
 */
export async function installClient(dir: string): Promise<void> {
  const clone = await cloneOfSources(dir);
  await pack(clone, dir);
  await leaveHalfAPack(clone);
  const tarball = await pack(clone, dir);
  await writeFile(join(dir, 'package.json'), JSON.stringify({ name: 'uses-gantry', type: 'module', private: true }));
  const quiet = ['--offline', '--silent', '--no-audit', '--no-fund'];
  await exec('npm', ['install', ...quiet, `./${tarball}`], { cwd: dir });
}

async function cloneOfSources(dir: string): Promise<string> {
  const clone = join(dir, 'clone');
  const scripts = (await readdir(root('ops'))).filter((name) => name.endsWith('.mjs')).map((name) => `ops/${name}`);
  for (const path of [...sources, ...tools, ...scripts]) await cp(root(path), join(clone, path), { recursive: true });
  // The folder is the clone's own, but for the packages: a compiler writes its cache there.
  await mkdir(join(clone, 'node_modules'));
  for (const name of await readdir(root('node_modules')))
    if (name !== '.cache') await symlink(root(`node_modules/${name}`), join(clone, 'node_modules', name));
  return clone;
}

/** As a pack of an earlier version leaves the folder when it is killed. */
async function leaveHalfAPack(clone: string): Promise<void> {
  const folder = join(clone, 'ops/client');
  for (const path of ['dist/client/left.js', 'node_modules/left/index.js', 'README.md']) {
    await mkdir(join(folder, path, '..'), { recursive: true });
    await writeFile(join(folder, path), 'export {};');
  }
}

async function pack(clone: string, dir: string): Promise<string> {
  const { stdout } = await exec('npm', ['pack', './ops/client', '--silent', '--pack-destination', dir], { cwd: clone });
  return stdout.trim();
}

/** The module that `import 'gantry-client'` means in the project. */
export function importClient(dir: string): Promise<typeof import('#ops/client/index.ts')> {
  return import(pathToFileURL(createRequire(join(dir, 'use.js')).resolve('gantry-client')).href);
}

/** Errors of our compiler about a file of the project under `strict`, and about the declarations it uses; empty if there are none. */
export async function compile(dir: string, file: string): Promise<string> {
  const compilerOptions = {
    strict: true,
    noEmit: true,
    target: 'es2024',
    lib: ['es2024', 'dom', 'dom.iterable', 'dom.asynciterable'],
    module: 'nodenext',
    types: [],
  };
  await writeFile(join(dir, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: [file] }));
  return exec(process.execPath, [root('node_modules/typescript/bin/tsc'), '-p', dir]).then(
    ({ stdout }) => stdout,
    (error: { stdout: string }) => error.stdout,
  );
}
