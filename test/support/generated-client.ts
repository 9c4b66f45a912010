import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const exec = promisify(execFile);
const root = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));

/** Writes a client of `ops/openapi.json` into the folder, as a user of the document would with `@hey-api/openapi-ts`. */
export async function generateClient(dir: string): Promise<void> {
  // The generator calls TypeScript's API, which version 7, our compiler, does not have.
  const hooks = registerHooks({
    resolve: (specifier, context, next) => next(specifier === 'typescript' ? 'typescript5' : specifier, context),
  });
  try {
    const { createClient } = await import('@hey-api/openapi-ts');
    await createClient({
      input: root('ops/openapi.json'),
      output: { path: join(dir, 'client'), importFileExtension: '.ts' },
      plugins: ['@hey-api/client-fetch', '@hey-api/typescript', '@hey-api/sdk'],
      logs: { level: 'error', file: false },
    });
  } finally {
    hooks.deregister();
  }
}

/** What our compiler says about the folder under `strict`; empty if nothing. */
export async function compile(dir: string): Promise<string> {
  const compilerOptions = {
    strict: true,
    noEmit: true,
    target: 'es2024',
    lib: ['es2024', 'dom', 'dom.iterable', 'dom.asynciterable'],
    module: 'esnext',
    moduleResolution: 'bundler',
    allowImportingTsExtensions: true,
    types: [],
  };
  await writeFile(join(dir, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['.'] }));
  return exec(process.execPath, [root('node_modules/typescript/bin/tsc'), '-p', dir]).then(
    ({ stdout }) => stdout,
    (error: { stdout: string }) => error.stdout,
  );
}
