/**
 * `npm run client [folder]`: compiles the typed client and the command line into a folder that `npm pack` packs, `.gantry/client` unless
 * another is named. What they need is bundled, so the package installs without a registry. `npm pack ./ops/client` does the same in that
 * folder, and removes it afterwards.
 */
import { execFileSync } from 'node:child_process';
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));
const source = join(root, 'ops/client');
const folder = resolve(process.argv[2] ?? join(root, '.gantry/client'));
const isSource = folder === source;

for (const made of isSource ? ['dist', 'node_modules'] : ['.'])
  await rm(join(folder, made), { recursive: true, force: true });
await mkdir(folder, { recursive: true });
execFileSync(
  process.execPath,
  [join(root, 'node_modules/typescript/bin/tsc'), '-p', source, '--outDir', join(folder, 'dist')],
  { cwd: root, stdio: 'inherit' },
);
const { scripts: _ofTheSource, ...manifest } = JSON.parse(await readFile(join(source, 'package.json'), 'utf8'));
if (!isSource) await writeFile(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
await cp(join(root, 'ops/guides/client.md'), join(folder, 'README.md'));
await bundle(Object.keys(manifest.dependencies));
if (!isSource) console.log(folder);

async function bundle(names: string[]): Promise<void> {
  for (const name of names) {
    const from = join(root, 'node_modules', name);
    await cp(from, join(folder, 'node_modules', name), { recursive: true, dereference: true });
    const { dependencies = {} } = JSON.parse(await readFile(join(from, 'package.json'), 'utf8'));
    await bundle(Object.keys(dependencies));
  }
}
