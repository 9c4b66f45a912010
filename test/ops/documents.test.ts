/** README, decisions and guides against the tree and the code they describe; the words of comments and test titles. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { datasourceTypes } from '#shared/datasources/types/index.ts';
import { readConfig } from '#shared/process/config.ts';
import { EmbeddedEnvironment, Environment } from '#shared/process/environment.ts';
import { nodes } from '#shared/workflow/nodes/index.ts';
import { retentions } from '#workers/maintenance/retention/tables.ts';
import { oneLine, proseIn } from './prose.ts';

const root = join(import.meta.dirname, '../..');
const decisions = globSync('ops/decisions/[0-9]*.md', { cwd: root }).sort();
const guides = globSync('ops/guides/*.md', { cwd: root }).sort();
const sources = globSync('{api,workers,shared,ops,test}/**/*.ts', { cwd: root }).sort();
const names = new Set(
  globSync('{api,workers,shared,ops,test}/**/*.{ts,tsx,mjs,json,sql,yaml,jsonc}', { cwd: root })
    .filter((path) => !path.includes('node_modules'))
    .flatMap((path) => read(path).match(/[A-Za-z_]\w*/g) ?? []),
);

/** Names of other software, which documents mention. */
const foreignNames = new Set([
  'COM_RESET_CONNECTION',
  'Referer',
  'addToolOutput',
  'approve_tool_call',
  'allowed_paths',
  'connection_init',
  'consumeMode',
  'createSnapshot',
  'max_slot_wal_keep_size',
  'operator_login',
  'sample_',
  'snake_case',
  'storeDestination',
  'test_simple_text',
  'uniqueItems',
  'waitUntilFinished',
]);
const documents = ['README.md', 'ops/decisions/README.md', ...decisions, ...guides];

/** The second line of a decision. */
const statusLine = /^\nStatus: (accepted|replaced (in part )?by \[\d{4}\]\(.+)$/m;

/** Words in place of a caller, client, tenant, worker, run or row. As data, such as a user's name, they stand in strings. */
const withoutSubject =
  /\b(who|what)ever\b|\b(some|any|every|no)body\b|\bsomeone\b|\b(none|one) of ours\b|\bwhat is there\b|\bthat which\b/gi;

describe.each(documents)('%s', (document) => {
  const text = read(document);

  test('names only files and folders that exist', () => {
    expect(pathsIn(text).filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  test('names only symbols that exist', () => {
    expect(symbolsIn(text).filter((name) => !foreignNames.has(name) && !names.has(name))).toEqual([]);
  });

  test('links only to documents and headings that exist', () => {
    expect(linksIn(text).filter((link) => !isReachable(document, link))).toEqual([]);
  });

  test('names the subject of its sentences', () => {
    expect(text.match(withoutSubject) ?? []).toEqual([]);
  });
});

describe.each(decisions)('%s', (decision) => {
  const text = read(decision);

  test('is a decision and no more: context, decision, consequences, at most 330 words', () => {
    const [, context, , consequences, figures, ...others] = headingsIn(text);

    expect(headingsIn(text).slice(1, 4)).toEqual(['Context', 'Decision', 'Consequences']);
    expect([context, consequences, others]).toEqual(['Context', 'Consequences', []]);
    expect(['Figures', undefined]).toContain(figures);
    expect(text.replace(statusLine, '').split(/\s+/).filter(Boolean).length).toBeLessThanOrEqual(330);
  });

  test('says whether it still holds', () => {
    expect(text).toMatch(statusLine);
  });

  test('is in the index, under its title and with its status', () => {
    const [number] = basename(decision).split('-');
    const [title] = headingsIn(text);
    const isAccepted = text.includes('\nStatus: accepted\n');
    const row = read('ops/decisions/README.md')
      .split('\n')
      .find((line) => line.startsWith(`| [${number}](${basename(decision)}) | ${title} |`));

    expect(row).toMatch(isAccepted ? /\| accepted \|$/ : /\| replaced (in part )?by \[\d{4}\]/);
  });
});

test('the index of decisions is in their order', () => {
  const numbers = [...read('ops/decisions/README.md').matchAll(/^\| \[(\d{4})\]/gm)].map(([, number]) => number);

  expect(numbers).toEqual(decisions.map((path) => basename(path).slice(0, 4)));
});

test('comments and test titles name the subject of their sentences', () => {
  // To parse a source takes many times as long as to search it, with its lines joined as those of a comment are.
  const parsed = sources.filter((path) => oneLine(read(path)).match(withoutSubject));
  const found = parsed.flatMap((path) =>
    proseIn(read(path)).flatMap(({ line, text }) =>
      (text.match(withoutSubject) ?? []).map((word) => `${path}:${line} ${word}`),
    ),
  );

  expect(found).toEqual([]);
  expect(sources.length).toBeGreaterThan(500);
});

test('words are looked for in comments and titles, and in no other text', () => {
  const source = `test.each(['nobody'])('%s is nobody', () => {});
const url = \`http://\${host}//nobody\`; // nobody
/* it's
 * nobody */ const quote = /['"\`//nobody]/;
describe(\`\${name} by nobody\`, () => expect("nobody").toBe("/* nobody */"));`;

  expect(proseIn(source).filter(({ text }) => text.includes('nobody'))).toEqual([
    { line: 2, text: '// nobody' },
    { line: 3, text: "/* it's nobody */" },
    { line: 1, text: "'%s is nobody'" },
    { line: 5, text: `\`\${name} by nobody\`` },
  ]);
});

test('every guide is in the index', () => {
  const linked = linksIn(read('ops/guides/README.md'));

  expect(guides.map((guide) => basename(guide)).filter((name) => !linked.includes(name))).toEqual(['README.md']);
});

test('the guide to adding things quotes titles of tests as they are', () => {
  const quotes = [...read('ops/guides/adding-things.md').matchAll(/`(test\/[\w./-]+)`, "(.+?)"/g)];
  const stale = quotes.filter(([, file = '', title = '']) => !read(file).includes(title));

  expect(stale.map(([quote]) => quote)).toEqual([]);
  expect(quotes.length).toBeGreaterThan(15);
});

test('the glossary is in alphabetical order, each word once', () => {
  const words = [...read('ops/guides/glossary.md').matchAll(/^\*\*(.+?)\*\*/gm)].map(([, word = '']) =>
    word.toLowerCase(),
  );

  expect(words).toEqual([...new Set(words)].sort());
  expect(words.length).toBeLessThanOrEqual(40);
});

test('the guide to datasources names every type, each once', () => {
  const rows = [...read('ops/guides/datasources.md').matchAll(/^\| (`.+?) \|/gm)].map(([, cell = '']) => cell);
  const named = rows.flatMap((cell) => [...cell.matchAll(/`(\w+)`/g)].map(([, type]) => type));

  expect(named.sort()).toEqual([...datasourceTypes].sort());
});

test('the guide to limits says how long the rows of every table are kept', () => {
  const { retention } = readConfig({ DATABASE_URL: 'postgres://db/gantry' }).worker;
  const daysOf = (row: { for: number | keyof typeof retention }) =>
    typeof row.for === 'number' ? row.for : retention[row.for] / 86_400_000;
  const [, section = ''] = read('ops/guides/limits.md').split('## How long rows are kept');
  const rows = [...section.matchAll(/^\|[^|]+\| (`.+?) \| (.+?) \|/gm)];
  const stated = rows.flatMap(([, tables = '', period = '']) =>
    [...tables.matchAll(/`(\w+)`/g)].map(([, table]) => [table, Number(/^(\d+) days/.exec(period)?.[1] ?? 0)]),
  );

  expect(Object.fromEntries(stated)).toEqual(
    Object.fromEntries(Object.entries(retentions).map(([table, row]) => [table, daysOf(row)])),
  );
});

test('the guide to limits says the time limit of every node kind that has its own', () => {
  const [, usual = '', own = ''] = /^\| time of a node \| (\d+) s; (.+); /m.exec(read('ops/guides/limits.md')) ?? [];
  const stated = [...own.matchAll(/`(\w+)` (\d+) s/g)].map(([, kind, seconds]) => [kind, Number(seconds)]);
  const others = nodes.filter(({ timeoutSeconds }) => timeoutSeconds !== Number(usual));

  expect(Object.fromEntries(stated)).toEqual(
    Object.fromEntries(others.map(({ kind, timeoutSeconds }) => [kind, timeoutSeconds])),
  );
});

describe('the guide to settings', () => {
  const rows = [...read('ops/guides/settings.md').matchAll(/^\| `([A-Z_]+)` \| (?:.+) \| (.+) \| .*\|$/gm)];
  const defaults: Record<string, unknown> = {
    ...EmbeddedEnvironment.parse({}),
    ...Environment.parse({ DATABASE_URL: 'postgres://db/gantry' }),
  };

  test('has the settings that the code reads, each once', () => {
    const read = new Set([...Object.keys(Environment.shape), ...Object.keys(EmbeddedEnvironment.shape)]);

    expect(rows.map(([, name]) => name).sort()).toEqual([...read].sort());
  });

  test.each(rows.map(([, name = '', stated = '']) => ({ name, stated })))('$name has the default it says', (row) => {
    const value = defaults[row.name];
    const isPlain = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
    const [, code] = /^`(.+?)`/.exec(row.stated) ?? [];

    // Required ones are given above, and the number of cores is the machine's.
    if (row.name === 'DATABASE_URL' || row.name === 'SANDBOX_PROCESSES') expect(code).toBeUndefined();
    else expect(code).toBe(isPlain ? String(value) : undefined);
  });
});

/** Words in code marks that can only be names: `createRuns`, `Reservation`, `run_event`. */
function symbolsIn(text: string): string[] {
  const marked = [...text.replaceAll(/```[\s\S]*?```/g, '').matchAll(/`(\w+)(?:\(\))?`/g)].map(([, name = '']) => name);
  return marked.filter((name) => /[a-z][A-Z]|_|^[A-Z][a-z]/.test(name));
}

function read(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}

function withoutCode(text: string): string {
  return text.replace(/^```[\s\S]*?^```/gm, '');
}

function headingsIn(text: string): string[] {
  return [...withoutCode(text).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => heading);
}

/** Words of inline code that begin with a folder of the project; one with `<…>` or `*` stands for several files. */
function pathsIn(text: string): string[] {
  const spans = [...withoutCode(text).matchAll(/`([^`\n]+)`/g)].flatMap(([, span = '']) => span.split(/\s+/));
  return spans.filter((word) => /^(?:api|workers|shared|ops|test)\/[\w./-]*$/.test(word));
}

function linksIn(text: string): string[] {
  const targets = [...withoutCode(text).matchAll(/\]\(([^()\s]+)\)/g)].map(([, target = '']) => target);
  return targets.filter((target) => !/^https?:/.test(target));
}

function isReachable(from: string, link: string): boolean {
  const [file = '', anchor] = link.split('#');
  const path = file === '' ? from : join(dirname(from), file);
  if (!existsSync(join(root, path))) return false;
  return anchor === undefined || headingsIn(read(path)).map(anchorOf).includes(anchor);
}

/** As GitHub makes it. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}
