/**
 * Servers that tests need beside Postgres. One on the PATH is taken; otherwise Debian's package is unpacked into node_modules,
 * not installed: that needs no root, starts no service and leaves the machine as it was.
 */
import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access, chmod, glob, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { codeOf } from '#ops/embedded/files.ts';

const exec = promisify(execFile);
const cache = fileURLToPath(new URL('../../node_modules/.cache/debian', import.meta.url));

export type Found = { readonly path: string } | { readonly path: null; readonly reason: string };

/** Rejects when the program does not work. */
type TryOut = (path: string) => Promise<unknown>;

const printsVersion: TryOut = (path) => exec(path, ['--version']);

/** The first of the names that is on the PATH, else the first of them out of the Debian package, if it works. */
export async function findProgram(
  names: readonly [string, ...string[]],
  debianPackage: string,
  tryOut: TryOut = printsVersion,
): Promise<Found> {
  for (const name of names) {
    const path = await onPath(name);
    if (path) return { path };
  }
  const found = await unpackProgram(names[0], debianPackage, tryOut);
  if (found.path !== null) return found;
  return { path: null, reason: `there is no ${names.join(' or ')} on the PATH, and ${found.reason}` };
}

/** A program with the files of its package: out of the unpacked package, or the installed one. */
export async function unpackProgram(program: string, debianPackage: string, tryOut: TryOut): Promise<Found> {
  const unpacked = join(cache, debianPackage, 'run', program);
  try {
    if (!(await isExecutable(unpacked))) await unpack(debianPackage, program);
    await tryOut(unpacked);
    return { path: unpacked };
  } catch (error) {
    return { path: null, reason: whyNot(error, debianPackage) };
  }
}

/** Where a program is, or undefined. */
export async function onPath(name: string): Promise<string | undefined> {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin'];
  for (const folder of folders) {
    const path = join(folder || '.', name);
    if (await isExecutable(path)) return path;
  }
  return undefined;
}

/** In a folder of its own and then renamed, so that two runs at once both end up with a whole one. */
async function unpack(debianPackage: string, program: string): Promise<void> {
  const final = join(cache, debianPackage);
  const draft = `${final}.${process.pid}`;
  try {
    await download(debianPackage, draft);
    for await (const file of glob(join(draft, 'archives', '*.deb')))
      await exec('dpkg', ['-x', file, join(draft, 'root')]);
    await writeLauncher(draft, program);
    await rm(final, { recursive: true, force: true });
    await rename(draft, final).catch((error: unknown) => {
      if (codeOf(error) !== 'ENOTEMPTY' && codeOf(error) !== 'EEXIST') throw error;
    });
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

/** apt with lists and a cache of its own; what the machine already has installed is not fetched again. */
async function download(debianPackage: string, dir: string): Promise<void> {
  await mkdir(join(dir, 'lists', 'partial'), { recursive: true });
  await mkdir(join(dir, 'archives', 'partial'), { recursive: true });
  const settings = {
    'Dir::State::Lists': join(dir, 'lists'),
    'Dir::Cache': dir,
    'Dir::Cache::Archives': join(dir, 'archives'),
    'Dir::Log': dir,
    'Debug::NoLocking': '1',
    'APT::Sandbox::User': '',
    'Acquire::Retries': '1',
    'Acquire::http::Timeout': '20',
  };
  const options = Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
  const env = { ...process.env, LC_ALL: 'C', DEBIAN_FRONTEND: 'noninteractive' };
  await exec('apt-get', [...options, '-q', 'update'], { env });
  const install = ['-q', '-y', '--no-install-recommends', '--download-only', 'install', debianPackage];
  await exec('apt-get', [...options, ...install], { env });
}

/** A wrapper script, because neither the loader nor Python looks into the folder of the unpacked package. */
async function writeLauncher(dir: string, program: string): Promise<void> {
  const folders = '{usr/bin,usr/sbin,usr/lib/erlang/erts-*/bin,usr/lib/chromium,usr/lib/postgresql/*/bin}';
  const all = await Array.fromAsync(glob(`${folders}/${program}`, { cwd: join(dir, 'root') }));
  // In usr/bin there may be a script that starts the program by an absolute path.
  const found = all.toSorted().at(-1);
  // apt does not fetch packages that are installed.
  const path = found === undefined ? `/usr/bin/${program}` : `$root/${found}`;
  if (found === undefined && !(await isExecutable(path))) throw new Error(`the package holds no ${program}`);
  const libraryFolders = ['{usr/lib,lib}/*-linux-gnu*{,/pulseaudio}', 'usr/lib/dovecot'];
  const libraries = await Array.fromAsync(glob(libraryFolders, { cwd: join(dir, 'root') }));
  const script = [
    '#!/bin/sh',
    'root="$(dirname "$(readlink -f "$0")")/../root"',
    `export LD_LIBRARY_PATH="${libraries.map((folder) => `$root/${folder}`).join(':')}"`,
    'export PYTHONPATH="$root/usr/lib/python3/dist-packages"',
    `exec "${path}" "$@"`,
  ];
  await mkdir(join(dir, 'run'));
  await writeFile(join(dir, 'run', program), `${script.join('\n')}\n`);
  await chmod(join(dir, 'run', program), 0o755);
}

function whyNot(error: unknown, debianPackage: string): string {
  if (codeOf(error) === 'ENOENT') return "no apt-get or dpkg to unpack Debian's with";
  const said = error instanceof Error && 'stderr' in error ? String(error.stderr) : '';
  const lines = (said.trim() || (error instanceof Error ? error.message : String(error))).split('\n');
  return `Debian's ${debianPackage} could not be unpacked: ${lines.at(-1)}`;
}

async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}
