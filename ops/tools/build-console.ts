/**
 * `node ops/tools/build-console.ts [folder]`: builds the console, unless the folder is there. Without a folder it is the one that
 * `npm start` serves. Where the development packages are not installed, it installs those of the console into `.gantry/console`.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { consoleFolder, sharedModules } from '../embedded/console.ts';
import { sampleGroups } from '../samples/groups.ts';

const DAY_MS = 86_400_000;
const root = join(import.meta.dirname, '../..');
const home = join(root, '.gantry', 'console');

// React would be its larger build for developers, for example in tests.
process.env.NODE_ENV = 'production';
// The bundler's threads cost more than they save beside other processes: 4.9 s of processor time with them, 4.2 s without.
process.env.RAYON_NUM_THREADS ??= '1';
process.env.ROLLDOWN_WORKER_THREADS ??= '1';
process.env.ROLLDOWN_MAX_BLOCKING_THREADS ??= '2';

const folder = resolve(process.argv[2] ?? consoleFolder());
if (existsSync(join(folder, 'index.html'))) console.log(`The console is built already: ${folder}`);
else await buildInto(folder);

async function buildInto(target: string): Promise<void> {
  const stage = `${target}.${process.pid}`;
  mkdirSync(dirname(target), { recursive: true });
  process.on('exit', () => rmSync(stage, { recursive: true, force: true }));
  const began = performance.now();
  await build(existsSync(join(root, 'node_modules/@mantine/core')) ? root : ownPackages(), stage);
  copySamples(join(stage, 'samples'));
  compress(stage);
  rename(stage, target);
  if (dirname(target) === home) removeOlder(target);
  const { user, system } = process.cpuUsage();
  const seconds = ((performance.now() - began) / 1_000).toFixed(1);
  const busy = ((user + system) / 1_000_000).toFixed(1);
  console.log(`The console is built in ${seconds} s (${busy} s of processor time): ${target}`);
}

/** Each in a file, and all in one, in the order of their groups. */
function copySamples(target: string): void {
  const paths = globSync('ops/samples/*.json', { cwd: root }).sort();
  const samples = paths.map((path) => JSON.parse(readFileSync(join(root, path), 'utf8')) as { group: string });
  const groupOf = ({ group }: { group: string }) => sampleGroups.indexOf(group);
  mkdirSync(target);
  for (const path of paths) cpSync(join(root, path), join(target, basename(path)));
  const ordered = samples.toSorted((one, other) => groupOf(one) - groupOf(other));
  writeFileSync(join(target, 'index.json'), JSON.stringify(ordered));
}

/** `place` has `node_modules` and `ops/console`. */
async function build(base: string, outDir: string): Promise<void> {
  const vite = pathToFileURL(join(base, 'node_modules/vite/dist/node/index.js')).href;
  const { build: run } = (await import(vite)) as typeof import('vite');
  await run({
    root: join(base, 'ops/console'),
    base: '/console/',
    configFile: false,
    logLevel: 'warn',
    plugins: [ownSourcesOnly(join(base, 'ops/console'))],
    resolve: {
      alias: [
        { find: /^#shared\//, replacement: join(root, 'shared/') },
        { find: /^#ops\//, replacement: join(root, 'ops/') },
        { find: /^ajv$/, replacement: join(base, 'ops/console/ui/ajv.ts') },
        // Its replacement knows the formats.
        { find: /^ajv-formats$/, replacement: 'lodash/noop' },
      ],
    },
    build: {
      outDir,
      emptyOutDir: true,
      reportCompressedSize: false,
      // Sizes have their test, which counts them compressed.
      chunkSizeWarningLimit: 1_000,
      modulePreload: { polyfill: false },
      manifest: 'manifest.json',
      rolldownOptions: {
        input: ['index.html', 'fleet.html'].map((page) => join(base, 'ops/console', page)),
        // Packages for servers mark what runs in browsers; here all of it does.
        // What of these is not used does nothing; they do not say so, and would weigh 11 kB more, compressed.
        treeshake: { moduleSideEffects: [{ test: /node_modules\/(lodash|@jsonforms)\//, sideEffects: false }] },
        onLog: (level, log, say) => log.code !== 'MODULE_LEVEL_DIRECTIVE' && say(level, log),
      },
    },
  });
}

/** The pages import types from the rest of the tree, which are gone by now: its code is not for browsers, but for a few modules. */
function ownSourcesOnly(sources: string): import('vite').Plugin {
  const shared = new Set(sharedModules.map((path) => join(root, path)));
  return {
    name: 'own-sources-only',
    transform(_, id) {
      const isOwn = id.startsWith(sources) || shared.has(id) || id.includes('/node_modules/') || !id.startsWith('/');
      if (!isOwn) throw new Error(`The console may import types of ${id}, and no code`);
    },
  };
}

/** Installs what the sources import, in the versions of the lockfile, for a clone that has only the packages that running needs. */
function ownPackages(): string {
  const lock = readFileSync(join(root, 'package-lock.json'), 'utf8');
  const base = join(home, `packages-${createHash('sha256').update(lock).digest('hex').slice(0, 16)}`);
  if (!existsSync(base)) {
    const stage = `${base}.${process.pid}`;
    mkdirSync(stage, { recursive: true });
    process.on('exit', () => rmSync(stage, { recursive: true, force: true }));
    const { dependencies, devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    const versions: Record<string, string> = { ...dependencies, ...devDependencies };
    const wanted = Object.fromEntries([...importedPackages()].map((name) => [name, versions[name]]));
    writeFileSync(join(stage, 'package.json'), JSON.stringify({ private: true, type: 'module', dependencies: wanted }));
    writeFileSync(join(stage, 'package-lock.json'), lock);
    const args = ['install', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error'];
    const { status, error } = spawnSync('npm', args, { cwd: stage, stdio: ['ignore', 'inherit', 'inherit'] });
    if (status !== 0) throw new Error('The packages of the console could not be installed', { cause: error });
    rename(stage, base);
  }
  const sources = join(base, 'ops/console');
  rmSync(sources, { recursive: true, force: true });
  cpSync(join(root, 'ops/console'), sources, { recursive: true });
  return base;
}

function importedPackages(): ReadonlySet<string> {
  const sources = globSync('ops/console/**/*.{ts,tsx}', { cwd: root }).map((path) =>
    readFileSync(join(root, path), 'utf8'),
  );
  const names = sources.flatMap((text) =>
    [...text.matchAll(/^(?:import|export)\s(?!type\s)(?:[^;']*\sfrom\s)?'((?:@[\w.-]+\/)?[\w][\w.-]*)/gm)].map(
      ([, name = '']) => name,
    ),
  );
  return new Set(['vite', ...names]);
}

/** A request then costs no compression. */
function compress(folder: string): void {
  for (const path of globSync('{**/*.{js,css,svg},samples/*.json}', { cwd: folder })) {
    const text = readFileSync(join(folder, path));
    writeFileSync(join(folder, `${path}.gz`), gzipSync(text, { level: 9 }));
    // From 7 to 9 it takes seven times as long, a second in all, and saves three parts in a thousand.
    const params = { [constants.BROTLI_PARAM_QUALITY]: 7, [constants.BROTLI_PARAM_SIZE_HINT]: text.length };
    writeFileSync(join(folder, `${path}.br`), brotliCompressSync(text, { params }));
  }
}

/** Another process may have made the same. */
function rename(stage: string, target: string): void {
  try {
    renameSync(stage, target);
  } catch (error) {
    if (!existsSync(target)) throw error;
  }
}

/** A Gantry that was started from older sources may still serve theirs, so they stay for a day. */
function removeOlder(target: string): void {
  for (const name of readdirSync(home)) {
    const path = join(home, name);
    const isOld = Date.now() - statSync(path).mtimeMs > DAY_MS;
    if (isOld && name !== basename(target)) rmSync(path, { recursive: true, force: true });
  }
}
