/**
 * Makes a fresh clone runnable, then becomes a script of it: `node ops/bootstrap.mjs <script.ts> [args…]`.
 * Without a script it only installs. Plain JavaScript that Node 20 can read, because nothing is installed yet.
 */
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  accessSync,
  constants,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { connect, createServer } from 'node:net';
import { homedir, constants as osConstants, tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const modules = join(root, 'node_modules');
const node = join(modules, '.bin', 'node');
const marker = join(modules, '.gantry-lock');

if (Number(process.versions.node.split('.')[0]) < 20) {
  fail(`Node 20 or newer is needed to start, and this is Node ${process.versions.node}.`);
}
if (!isInstalled()) await install();
await run(process.argv.slice(2));

/** npm writes node_modules/.package-lock.json when it is through, so an `npm install` by hand counts as well, if it finished. */
function isInstalled() {
  if (!isExecutable(node)) return false;
  const fingerprint = lockFingerprint();
  if (read(marker) === fingerprint) return true;

  const found = JSON.parse(read(join(modules, '.package-lock.json')) ?? '{}').packages ?? {};
  const wanted = JSON.parse(read(join(root, 'package-lock.json')) ?? '{}').packages ?? {};
  const same = Object.entries(wanted).every(
    ([path, { optional, version, integrity }]) =>
      path === '' || optional || (found[path]?.version === version && found[path]?.integrity === integrity),
  );
  if (!same || whatIsWrongWithNode(node)) return false;
  remember(fingerprint);
  return true;
}

/** Without the note, which a read-only folder does not take, the next start compares the two lockfiles again. */
function remember(fingerprint) {
  try {
    writeFileSync(marker, fingerprint);
  } catch {}
}

/**
 * npm works in a folder of its own, and node_modules changes place when all is well: npm puts node_modules/.bin first on
 * the PATH of its scripts, so half an install there would keep the next start from even reaching this file.
 */
async function install() {
  const release = await takeTurn();
  if (!isInstalled()) {
    say(`installing the packages of package-lock.json into ${modules} (once, and after each change of the lockfile)`);
    const stage = makeStage();
    await fill(stage);
    if (existsSync(modules)) renameSync(modules, join(stage, 'replaced'));
    renameSync(join(stage, 'node_modules'), modules);
    remember(lockFingerprint());
    removeStage(stage);
  }
  release();
}

async function fill(stage) {
  for (const name of ['package.json', 'package-lock.json', '.npmrc']) {
    if (existsSync(join(root, name))) copyFileSync(join(root, name), join(stage, name));
  }
  const { isLibatomicMissing, fetchLibatomic, wrapNode } = await import('./libatomic.mjs');
  const isMissing = isLibatomicMissing();
  if (isMissing) say('fetching Debian’s libatomic1, which Node 26 needs and this machine does not have');
  if (isMissing && !fetchLibatomic(stage)) {
    fail('that failed; install libatomic1 (Debian, Ubuntu) or libatomic (Fedora), and start again.');
  }

  // isolated-vm's install script runs on our Node.
  await npmCi(stage, isMissing ? { LD_LIBRARY_PATH: stage } : {});
  const installed = join(stage, 'node_modules');
  if (isMissing) wrapNode(installed, stage);
  const fault = whatIsWrongWithNode(join(installed, '.bin', 'node'));
  if (fault) fail(`npm installed no working Node 26 (${fault}).`);
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

/** What an install that was killed has left may still be in use by its npm; it is tried again next time. */
function removeStage(stage) {
  try {
    rmSync(stage, { recursive: true, force: true });
    rmdirSync(dirname(stage));
  } catch {}
}

/**
 * One install at a time. The lock is an abstract Unix socket: the kernel frees it with its process, so it cannot go stale.
 * Systems without such sockets go unguarded.
 */
async function takeTurn() {
  const name = `\0gantry-install-${createHash('sha256').update(root).digest('hex')}`;
  for (let waiting = false; ; waiting = true) {
    const waiters = new Set();
    const server = createServer((socket) => waiters.add(socket.on('error', () => {})));
    const problem = await new Promise((resolve) => {
      server.once('error', (error) => resolve(error.code)).listen(name, () => resolve(undefined));
    });
    if (problem !== 'EADDRINUSE') {
      return () => {
        server.close();
        for (const waiter of waiters) waiter.destroy();
      };
    }

    if (!waiting) say('another process is installing the packages of this folder; waiting for it');
    await new Promise((resolve) => {
      connect(name).on('error', resolve).on('close', resolve).resume();
    });
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function npmCi(stage, extraEnv) {
  const quiet = ['--no-fund', '--no-audit', '--no-update-notifier'];
  const args = ['ci', '--include=dev', '--ignore-scripts=false', '--prefer-offline', '--loglevel=error', ...quiet];
  const cache = hasUsableCache() ? undefined : mkdtempSync(join(tmpdir(), 'gantry-npm-cache-'));
  if (cache) args.push(`--cache=${cache}`);
  // Without node_modules/.bin, whose Node may be the one to replace.
  const path = pathEntries().filter((entry) => !entry.startsWith(modules));

  const result = await runChild('npm', args, {
    cwd: stage,
    stdio: ['ignore', 2, 2],
    env: { ...process.env, ...extraEnv, PATH: path.join(delimiter) },
  });
  if (cache) rmSync(cache, { recursive: true, force: true });

  if (result.error?.code === 'ENOENT')
    fail('npm is not on the PATH. It comes with Node; on Debian: apt-get install npm.');
  if (result.error) fail(`npm could not be started: ${result.error.message}`);
  if (result.status > 128) process.exit(result.status);
  if (result.status !== 0) {
    fail(`npm ci failed (exit code ${result.status}); its own words are above. Start again once that is mended.`);
  }
}

/** Undefined when it works, else what it said. */
function whatIsWrongWithNode(path) {
  const { status, stdout, stderr, error } = spawnSync(path, ['--version'], { encoding: 'utf8' });
  const works = status === 0 && Number(/^v(\d+)/.exec(stdout)?.[1]) >= 26;
  return works ? undefined : (error?.message ?? (stderr || stdout || 'no output')).trim();
}

/** Node 26 turns into the script; Node 20 cannot, so it stays as a parent that passes on signals and the exit code. */
async function run([script, ...args]) {
  if (script === undefined) return;
  const bin = join(modules, '.bin');
  const path = [bin, ...pathEntries().filter((entry) => entry !== bin)].join(delimiter);
  const env = { ...process.env, PATH: path };

  if (process.execve) process.execve(node, [node, script, ...args], env);
  const { status, error } = await runChild(node, [script, ...args], { stdio: 'inherit', env });
  if (error) fail(`${node} could not be started: ${error.message}`);
  process.exit(status);
}

/**
 * A terminal's Ctrl-C reaches the child as well as us, and whether it did cannot be known:
 * the child may see SIGINT twice, as it does under npm anyway.
 */
function runChild(command, args, options) {
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

function lockFingerprint() {
  const lock = read(join(root, 'package-lock.json'));
  if (lock === undefined) fail(`${join(root, 'package-lock.json')} is missing.`);
  return `${createHash('sha256').update(lock).digest('hex')} ${process.platform}-${process.arch}\n`;
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function read(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

function pathEntries() {
  return (process.env.PATH ?? '').split(delimiter);
}

function say(message) {
  process.stderr.write(`gantry: ${message}\n`);
}

function fail(message) {
  say(message);
  process.exit(1);
}
