/** The files of the image against those that its processes load. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, matchesGlob, normalize } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');

const processes = ['api/main.ts', 'workers/main.ts', 'ops/board.ts', 'ops/migrate.ts'];
const commands = [
  'ops/accounts.ts',
  'ops/backup.ts',
  'ops/enrol-operator.ts',
  'ops/move-tenant-database.ts',
  'ops/rotate-secrets.ts',
];

const stages = read('ops/Dockerfile').split(/^FROM /m);
const sent = globSync('{api,workers,shared,ops,test}/**/*.*', { cwd: root }).filter(isSent);
const loaded = loadedBy([...processes, ...commands]);
const inImage = sent.filter(copiedBy(stages.at(-1) ?? ''));

test('the image has every file that its processes and commands load', () => {
  expect(loaded).toContain('workers/datasources/connectors/mysql/mysql.ts');
  expect(loaded).toContain('workers/sandbox/host.ts');
  expect([...loaded].filter((path) => !inImage.includes(path))).toEqual([]);
});

test('the stage that builds the console has every file that this reads', () => {
  const isCopied = copiedBy(stages.find((stage) => / AS console$/m.test(stage)) ?? '');
  const pages = globSync('ops/console/**/*.{ts,tsx}', { cwd: root });
  const read = [...loadedBy(['ops/tools/build-console.ts', ...pages])];
  expect(read).toContain('shared/workflow/templates/expressions.ts');
  expect(read.filter((path) => !sent.includes(path) || !isCopied(path))).toEqual([]);
});

test('the image has no file of tests, tools, benchmarks, documents and the embedded mode, but the guides that agents read', () => {
  const guides = globSync('ops/guides/*.md', { cwd: root });
  expect(guides.filter((path) => !inImage.includes(path))).toEqual([]);
  // The rest of these folders are types.
  const isType = (path: string) => /^(?:api|workers|shared)\/.*\.ts$/.test(path);
  const left = inImage.filter((path) => !loaded.has(path) && !isType(path) && !guides.includes(path));
  expect(left).toEqual([]);
});

test('servers have the same options of Node in the image, in npm start and in the benchmarks', () => {
  const [, inImage = ''] = /^ENTRYPOINT (.+)$/m.exec(read('ops/Dockerfile')) ?? [];
  const options = (JSON.parse(inImage) as string[]).slice(1);
  expect(options).toEqual(['--max-semi-space-size=8']);
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  for (const name of ['start', 'dev', 'bench'])
    expect(scripts[name], name).toMatch(`node ops/bootstrap.mjs ${options.join(' ')} ops/`);
});

/** Applies the ignore file, whose last pattern that matches decides. */
function isSent(path: string): boolean {
  const patterns = read('ops/Dockerfile.dockerignore')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  const deciding = patterns.findLast((pattern) => {
    const glob = pattern.replace(/^!/, '');
    return matchesGlob(path, glob) || matchesGlob(path, `${glob}/**`);
  });
  return deciding === undefined || deciding.startsWith('!');
}

/** Whether a stage copies the file. */
function copiedBy(stage: string): (path: string) => boolean {
  const sources = [...stage.matchAll(/^COPY (?!--)(.+) \S+$/gm)].flatMap(([, line = '']) => line.split(' '));
  return (path) => sources.some((source) => matchesGlob(path, source) || path.startsWith(`${source}/`));
}

/** Follows imports, also those made later, and addresses of files beside a module. */
function loadedBy(entries: readonly string[]): ReadonlySet<string> {
  const found = new Set<string>();
  const left = [...entries];
  for (let path = left.pop(); path !== undefined; path = left.pop()) {
    if (found.has(path)) continue;
    found.add(path);
    left.push(...importsOf(path));
  }
  return found;
}

function importsOf(path: string): string[] {
  const imports = read(path).matchAll(
    /^(?:import|export)\s(?!type\s)(?:[^;']*\sfrom\s)?'(?<declared>[^']+)'|import\('(?<later>[^']+)'\)|new URL\('(?<beside>\.\/[^']+)', import\.meta\.url\)/gm,
  );
  return [...imports].flatMap(({ groups = {} }) => {
    const name = groups.declared ?? groups.later ?? groups.beside ?? '';
    const found = name.startsWith('#') ? name.slice(1) : normalize(join(dirname(path), name));
    return /^[#.]/.test(name) && existsSync(join(root, found)) ? [found] : [];
  });
}

function read(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}
