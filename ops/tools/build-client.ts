/**
 * `npm run client [folder]`: compiles the typed client and the command line into a folder that `npm pack` packs, `.gantry/client` unless
 * another is named. What they need is bundled, so the package installs without a registry.
 */
import { execFileSync } from 'node:child_process';
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));
const folder = resolve(process.argv[2] ?? join(root, '.gantry/client'));

await rm(folder, { recursive: true, force: true });
await mkdir(folder, { recursive: true });
execFileSync(
  process.execPath,
  [join(root, 'node_modules/typescript/bin/tsc'), '-p', 'ops/client', '--outDir', folder],
  { cwd: root, stdio: 'inherit' },
);
const manifest = await readFile(join(root, 'ops/client/package.json'), 'utf8');
await writeFile(join(folder, 'package.json'), manifest);
await cp(join(root, 'ops/guides/client.md'), join(folder, 'README.md'));
await bundle(Object.keys(JSON.parse(manifest).dependencies));
console.log(folder);

async function bundle(names: string[]): Promise<void> {
  for (const name of names) {
    const from = join(root, 'node_modules', name);
    await cp(from, join(folder, 'node_modules', name), { recursive: true, dereference: true });
    const { dependencies = {} } = JSON.parse(await readFile(join(from, 'package.json'), 'utf8'));
    await bundle(Object.keys(dependencies));
  }
}
