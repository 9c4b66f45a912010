/** Fills node_modules from package-lock.json. For ops/bootstrap.mjs, so Node 20 has to read it. */
import { spawn } from 'node:child_process';
import {
  accessSync,
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  utimesSync,
} from 'node:fs';
import { homedir, constants as osConstants, tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { hasNothingElse, hasPackages, lastInstalledSet, remember, whatIsWrongWithNode } from './installed.mjs';
import { fetchLibatomic, isLibatomicMissing, takeLibatomic, wrapNode } from './libatomic.mjs';

export const root = fileURLToPath(new URL('..', import.meta.url));
export const modules = join(root, 'node_modules');
export const node = join(modules, '.bin', 'node');
const nodePackage = /^node-(bin-)?(linux|darwin)-/;

/**
 * npm works in a folder of its own, and node_modules changes place when all is well: npm puts node_modules/.bin first on
 * the PATH of its scripts, so half an install there would keep the next start from even reaching ops/bootstrap.mjs.
 */
export async function install({ needsDev }) {
  // A folder that had the development packages keeps them: `npm test` may be running there.
  const set = needsDev || lastInstalledSet(root) === 'all' ? 'all' : 'production';
  const what = set === 'all' ? 'the packages of package-lock.json' : 'the packages that running needs';
  say(`installing ${what} into ${modules} (once, and after each change of the lockfile)`);
  const stage = makeStage();
  await fill(stage, set);
  if (existsSync(modules)) renameSync(modules, join(stage, 'replaced'));
  renameSync(join(stage, 'node_modules'), modules);
  remember(root, set);
  removeStage(stage);
}

async function fill(stage, set) {
  for (const name of ['package.json', 'package-lock.json', '.npmrc']) {
    if (existsSync(join(root, name))) copyFileSync(join(root, name), join(stage, name));
  }
  const isMissing = isLibatomicMissing();
  if (isMissing) provideLibatomic(stage);

  // isolated-vm's install script runs on our Node.
  const env = isMissing ? { LD_LIBRARY_PATH: stage } : {};
  if (!(await addMissing(stage, set, env))) await installAll(stage, set, env);
  const installed = join(stage, 'node_modules');
  linkNode(installed);
  removeUnused(installed);
  if (isMissing) wrapNode(installed, stage);
  const fault = whatIsWrongWithNode(join(installed, '.bin', 'node'));
  if (fault) fail(`npm installed no working Node 26 (${fault}).`);
}

function provideLibatomic(stage) {
  if (takeLibatomic(modules, stage)) return;
  say('fetching Debian’s libatomic1, which Node 26 needs and this machine does not have');
  if (fetchLibatomic(stage)) return;
  fail('that failed; install libatomic1 (Debian, Ubuntu) or libatomic (Fedora), and start again.');
}

/**
 * Starts from what is installed, by hard links, so that npm adds only the difference: 7 s for the development packages
 * instead of 31 s for everything. False when that was impossible or gave anything but the locked packages: unlike
 * `npm ci`, `npm install` does not refuse a lockfile that package.json contradicts.
 */
async function addMissing(stage, set, env) {
  if (!existsSync(join(modules, '.package-lock.json'))) return false;
  const linked = join(stage, 'node_modules');
  try {
    linkTree(modules, linked);
    linkNode(linked);
    // Copied, because npm overwrites it; last, because npm does not believe one that is older than a package.
    copyFileSync(join(modules, '.package-lock.json'), join(linked, '.package-lock.json'));
    const { status } = await npm(['install', '--no-save'], { stage, set, env });
    if (status > 128) process.exit(status);
    if (status === 0 && hasPackages(stage, set) && hasNothingElse(stage)) return true;
  } catch (error) {
    say(`what is installed cannot be built on (${error.message})`);
  }
  rmSync(linked, { recursive: true, force: true });
  return false;
}

/** Only npm's own files and the packages: what else begins with a dot belongs to tools that can make it again. */
function linkTree(from, to, isTop = true) {
  mkdirSync(to);
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    if (isTop && entry.name.startsWith('.') && entry.name !== '.bin') continue;
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) linkTree(source, target, false);
    else if (entry.isSymbolicLink()) symlinkSync(readlinkSync(source), target);
    else linkSync(source, target);
  }
}

async function installAll(stage, set, env) {
  const { status, error } = await npm(['ci'], { stage, set, env });
  if (error?.code === 'ENOENT') fail('npm is not on the PATH. It comes with Node; on Debian: apt-get install npm.');
  if (error) fail(`npm could not be started: ${error.message}`);
  if (status > 128) process.exit(status);
  if (status !== 0) {
    fail(`npm ci failed (exit code ${status}); its own words are above. Start again once that is mended.`);
  }
}

async function npm(command, { stage, set, env }) {
  // Named one by one, because NODE_ENV=production or an .npmrc may say otherwise.
  const sets = [set === 'all' ? '--include=dev' : '--omit=dev', '--include=optional', '--include=peer'];
  const quiet = ['--no-fund', '--no-audit', '--no-update-notifier', '--loglevel=error'];
  const args = [...command, ...sets, '--ignore-scripts=false', '--prefer-offline', ...quiet];
  const cache = hasUsableCache() ? undefined : mkdtempSync(join(tmpdir(), 'gantry-npm-cache-'));
  if (cache) args.push(`--cache=${cache}`);
  // Without node_modules/.bin, whose Node may be the one to replace.
  const path = pathEntries().filter((entry) => !entry.startsWith(modules));

  const result = await runChild('npm', args, {
    cwd: stage,
    stdio: ['ignore', 2, 2],
    env: { ...process.env, ...env, PATH: path.join(delimiter) },
  });
  if (cache) rmSync(cache, { recursive: true, force: true });
  return result;
}

/**
 * npm 10 and older take the link away with the packages of other platforms, which have a `node` as well. And where it is
 * a script (ops/libatomic.mjs), npm refuses to replace that.
 */
function linkNode(installed) {
  const path = join(installed, '.bin', 'node');
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) return;
  const name = readdirSync(installed).find((entry) => nodePackage.test(entry));
  if (name === undefined) return;
  rmSync(path, { force: true });
  symlinkSync(join('..', name, 'bin', 'node'), path);
}

/** C++ headers and manuals of Node, a third of its 210 MB, and native modules built for other platforms. */
function removeUnused(installed) {
  for (const name of readdirSync(installed)) {
    const folder = join(installed, name);
    if (nodePackage.test(name)) {
      for (const part of ['include', 'share']) rmSync(join(folder, part), { recursive: true, force: true });
    }
    const builds = join(folder, 'prebuilds');
    const others = existsSync(builds) ? readdirSync(builds).filter((build) => !isForThisMachine(build)) : [];
    for (const build of others) rmSync(join(builds, build), { recursive: true });
  }
  // npm does not believe a list that is older than a package.
  const now = new Date();
  utimesSync(join(installed, '.package-lock.json'), now, now);
}

/** `linux-x64`, or `darwin-x64+arm64`. */
function isForThisMachine(build) {
  const [platform, processors = ''] = build.split('-');
  return platform === process.platform && processors.split('+').includes(process.arch);
}

/** Beside node_modules, because a rename does not cross disks, and where git does not look. */
function makeStage() {
  const home = join(root, '.gantry');
  try {
    mkdirSync(home, { recursive: true, mode: 0o700 });
    for (const name of readdirSync(home)) if (name.startsWith('install-')) removeStage(join(home, name));
    mkdirSync(home, { recursive: true, mode: 0o700 });
    const stage = mkdtempSync(join(home, 'install-'));
    process.on('exit', () => removeStage(stage));
    return stage;
  } catch (error) {
    return fail(`the packages cannot be installed: ${error.message}`);
  }
}

/** The folder of an install that was killed may still be in use by its npm; it is tried again next time. */
function removeStage(stage) {
  try {
    rmSync(stage, { recursive: true, force: true });
    rmdirSync(dirname(stage));
  } catch {}
}

/**
 * A terminal's Ctrl-C reaches the child as well as us, and whether it did cannot be known:
 * the child may see SIGINT twice, as it does under npm anyway.
 */
export function runChild(command, args, options) {
  return new Promise((resolve) => {
    const child = spawn(command, args, options);
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
    child.once('error', (error) => resolve({ error }));
    child.once('exit', (code, signal) => resolve({ status: signal ? 128 + osConstants.signals[signal] : code }));
  });
}

/** npm fails without a folder for its cache, and a system user may have no home. */
function hasUsableCache() {
  if (process.env.npm_config_cache) return true;
  try {
    const cache = join(homedir() || '/nonexistent', '.npm');
    mkdirSync(cache, { recursive: true });
    accessSync(cache, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

export function pathEntries() {
  return (process.env.PATH ?? '').split(delimiter);
}

export function say(message) {
  process.stderr.write(`gantry: ${message}\n`);
}

export function fail(message) {
  say(message);
  process.exit(1);
}
