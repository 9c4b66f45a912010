/**
 * Node 26 needs libatomic, which a bare Debian lacks. For ops/install.mjs, so Node 20 has to read it.
 * Debian's package is unpacked, which needs no root and leaves the machine as it was.
 */
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';

const nodePackage = `node-linux-${process.arch}`;
const library = 'libatomic.so.1';
const loaders = { x64: '/lib64/ld-linux-x86-64.so.2', arm64: '/lib/ld-linux-aarch64.so.1' };

export function isLibatomicMissing() {
  const known = spawnSync('/sbin/ldconfig', ['-p'], { encoding: 'utf8' });
  if (known.status !== 0 || known.stdout.includes('libatomic.so.1 ')) return false;
  const folders = (process.env.LD_LIBRARY_PATH ?? '').split(delimiter);
  return !folders.some((folder) => existsSync(join(folder, 'libatomic.so.1')));
}

/** Copies the library that an earlier install fetched into the folder; false when there is none. */
export function takeLibatomic(modules, dir) {
  const earlier = join(cacheIn(modules), library);
  if (!existsSync(earlier)) return false;
  copyFileSync(earlier, join(dir, library));
  return true;
}

/** Leaves libatomic.so.1 in the folder; false when Debian's tools or packages are out of reach. */
export function fetchLibatomic(dir) {
  if (!loaders[process.arch]) return false;
  mkdirSync(join(dir, 'lists', 'partial'), { recursive: true });
  const settings = [`Dir::State::Lists=${dir}/lists`, `Dir::Cache=${dir}`, 'Debug::NoLocking=1', 'APT::Sandbox::User='];
  const apt = ['apt-get', '-q', ...settings.flatMap((setting) => ['-o', setting])];
  const unpack = ['sh', '-c', 'dpkg -x libatomic1_*.deb . && cp -L usr/lib/*/libatomic.so.1 .'];
  return [[...apt, 'update'], [...apt, 'download', 'libatomic1'], unpack].every(
    ([command, ...args]) => spawnSync(command, args, { cwd: dir, stdio: ['ignore', 'ignore', 2] }).status === 0,
  );
}

/**
 * Replaces .bin/node by a script that starts Node through the dynamic loader with the path of the library. An environment variable
 * would be lost in a child process with an environment of its own. `--require` sets process.execPath to the script, so that children
 * start through it as well.
 */
export function wrapNode(modules, libraryDir) {
  const cache = cacheIn(modules);
  const node = join(modules, '.bin', 'node');
  mkdirSync(cache, { recursive: true });
  copyFileSync(join(libraryDir, library), join(cache, library));
  const execPath = "require('node:path').join(__dirname, '../../.bin/node')";
  writeFileSync(join(cache, 'exec-path.cjs'), `process.execPath = process.argv[0] = ${execPath};\n`);
  const script = [
    '#!/bin/sh',
    'modules="$(cd "$(dirname "$(readlink -f "$0")")/.." && pwd)"',
    'cache="$modules/.cache/libatomic"',
    'unset PWD OLDPWD # which the shell itself has added to the environment',
    `exec ${loaders[process.arch]} --argv0 "$0" --library-path "$cache" "$modules/${nodePackage}/bin/node" --require "$cache/exec-path.cjs" "$@"`,
  ];
  rmSync(node);
  writeFileSync(node, `${script.join('\n')}\n`, { mode: 0o755 });
}

function cacheIn(modules) {
  return join(modules, '.cache', 'libatomic');
}
