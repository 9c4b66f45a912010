import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

const exec = promisify(execFile);
const root = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));

/** Packs the client, and installs the package in a project of its own as its users do, without a registry. */
export async function installClient(dir: string): Promise<void> {
  const built = join(dir, 'built');
  await exec(process.execPath, [root('ops/tools/build-client.ts'), built]);
  const { stdout } = await exec('npm', ['pack', '--silent', '--pack-destination', dir], { cwd: built });
  await writeFile(join(dir, 'package.json'), JSON.stringify({ name: 'uses-gantry', type: 'module', private: true }));
  const quiet = ['--offline', '--silent', '--no-audit', '--no-fund'];
  await exec('npm', ['install', ...quiet, `./${stdout.trim()}`], { cwd: dir });
}

/** The module that `import 'gantry-client'` means in the project. */
export function importClient(dir: string): Promise<typeof import('#ops/client/index.ts')> {
  return import(pathToFileURL(join(dir, 'node_modules/gantry-client/dist/client/index.js')).href);
}

/** What our compiler says about a file of the project under `strict`, and about the declarations it uses; empty if nothing. */
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
