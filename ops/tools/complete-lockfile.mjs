/**
 * Adds to package-lock.json the optional packages of other platforms that npm left out: `node ops/tools/complete-lockfile.mjs`.
 * npm writes the lockfile from what the registry has, and a mirror may hold Linux packages only; `npm ci` (npm 11) then
 * refuses the lockfile everywhere. test/ops/bootstrap.test.ts notices.
 */
import { readFileSync, writeFileSync } from 'node:fs';

const path = new URL('../../package-lock.json', import.meta.url);
const lock = JSON.parse(readFileSync(path, 'utf8'));
const systems = ['linux', 'darwin', 'win32', 'android', 'freebsd', 'openbsd', 'netbsd', 'openharmony', 'sunos', 'aix'];
const processors = ['x64', 'arm64', 'arm', 'ia32', 'ppc64', 's390x', 'riscv64', 'loong64', 'mips64el', 'wasm32'];
let added = 0;

for (const [parent, { optionalDependencies = {}, dev }] of Object.entries(lock.packages)) {
  for (const [name, range] of Object.entries(optionalDependencies)) {
    if (isLocked(parent, name)) continue;
    lock.packages[`node_modules/${name}`] = {
      version: range.replace(/^[^\d]*/, ''),
      ...platformOf(name),
      ...(dev ? { dev } : {}),
      optional: true,
    };
    added += 1;
  }
}

lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)));
writeFileSync(path, `${JSON.stringify(lock, null, 2)}\n`);
process.stderr.write(`${added} packages of other platforms added to package-lock.json\n`);

function isLocked(parent, name) {
  return `${parent}/node_modules/${name}` in lock.packages || `node_modules/${name}` in lock.packages;
}

/** npm skips a package by these fields alone, so a package whose name does not say its platform is given one that does not exist. */
function platformOf(name) {
  const words = name.replace('windows', 'win32').split(/[/.-]/);
  const os = systems.find((system) => words.includes(system)) ?? (words.includes('wasm32') ? undefined : 'unknown');
  const cpu = processors.find((processor) =>
    words.some((word) => word === processor || (processor === 'arm' && /^arm(eabi|v)/.test(word))),
  );
  const libc = words.some((word) => word.startsWith('musl')) ? ['musl'] : undefined;
  return { ...(cpu ? { cpu: [cpu] } : {}), ...(os ? { os: [os] } : {}), ...(libc ? { libc } : {}) };
}
