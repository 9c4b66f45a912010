/** Which packages of package-lock.json a folder has. For ops/bootstrap.mjs, so Node 20 has to read it. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { accessSync, constants, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** `all` has the development packages as well. */
const sets = ['all', 'production'];
const markerOf = (root) => join(root, 'node_modules', '.gantry-lock');

/**
 * `all`, `production`, or undefined when neither set is complete. npm writes node_modules/.package-lock.json after
 * everything else, so an `npm install` by hand counts as well, if it finished.
 */
export function installedSet(root) {
  const node = join(root, 'node_modules', '.bin', 'node');
  const set = isExecutable(node) ? sets.find((candidate) => hasPackages(root, candidate)) : undefined;
  if (set === undefined || read(markerOf(root)) === markerText(root, set)) return set;
  if (whatIsWrongWithNode(node)) return undefined;
  // A folder that had the development packages is to get them again, although running does without the ones that are missing now.
  if (set === 'all' || lastInstalledSet(root) !== 'all') remember(root, set);
  return set;
}

/** The set that was installed last, even when the lockfile has changed since then. */
export function lastInstalledSet(root) {
  const marker = read(markerOf(root));
  return sets.find((set) => marker?.endsWith(` ${set}\n`));
}

/** Without the marker, which a read-only folder does not take, the next start tries Node again. */
export function remember(root, set) {
  const path = markerOf(root);
  try {
    // A rename, because a copy of the folder by hard links shares the file.
    writeFileSync(`${path}.new`, markerText(root, set));
    renameSync(`${path}.new`, path);
  } catch {}
}

/** Every package of the set in the version of the lockfile. An optional one may be missing: its platform may be another. */
export function hasPackages(root, set) {
  const found = packagesIn(join(root, 'node_modules', '.package-lock.json'));
  return Object.entries(packagesIn(join(root, 'package-lock.json'))).every(([path, locked]) => {
    if (path === '' || (locked.dev && set === 'production')) return true;
    const present = found[path];
    if (!present) return Boolean(locked.optional || locked.devOptional);
    return present.version === locked.version && present.integrity === locked.integrity;
  });
}

/** Nothing but packages of the lockfile, each in its version. */
export function hasNothingElse(root) {
  const locked = packagesIn(join(root, 'package-lock.json'));
  return Object.entries(packagesIn(join(root, 'node_modules', '.package-lock.json'))).every(
    ([path, { version, integrity }]) => locked[path]?.version === version && locked[path].integrity === integrity,
  );
}

/** Undefined when it works, else its output. */
export function whatIsWrongWithNode(path) {
  const { status, stdout, stderr, error } = spawnSync(path, ['--version'], { encoding: 'utf8' });
  const works = status === 0 && Number(/^v(\d+)/.exec(stdout)?.[1]) >= 26;
  return works ? undefined : (error?.message ?? (stderr || stdout || 'no output')).trim();
}

function markerText(root, set) {
  const lock = readFileSync(join(root, 'package-lock.json'));
  return `${createHash('sha256').update(lock).digest('hex')} ${process.platform}-${process.arch} ${set}\n`;
}

function packagesIn(path) {
  return JSON.parse(read(path) ?? '{}').packages ?? {};
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
