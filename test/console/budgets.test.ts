/** The console's cost of loading. */
import { globSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { builtConsole } from './built-console.ts';

const kB = 1_000;
const budgets = {
  firstPage: 240 * kB,
  laterPage: 180 * kB,
  workflowEditor: { opened: 200 * kB, whole: 265 * kB },
  pageBuilder: { opened: 215 * kB, whole: 300 * kB },
  codeEditor: 150 * kB,
  values: 25 * kB,
  assistant: 45 * kB,
};

interface Chunk {
  file: string;
  css?: string[];
  imports?: string[];
  dynamicImports?: string[];
}

let folder: string;
let chunks: Record<string, Chunk>;
beforeAll(async () => {
  folder = await builtConsole();
  chunks = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8'));
}, 240_000);

test('the list of runs, the first page of most visits, is below 240 kB', () => {
  expect(sizeOf(filesOf(['index.html', 'pages/runs.tsx']))).toBeLessThan(budgets.firstPage);
});

test('the fleet page, which has an entry of its own, is below 240 kB', () => {
  expect(sizeOf(filesOf(['fleet.html']))).toBeLessThan(budgets.firstPage);
});

test('every other page but the editors adds less than 180 kB, its lazy parts included', () => {
  const pages = entriesIn('pages/').filter((name) => name !== WORKFLOW && !BUILDERS.includes(name));
  const sizes = pages.map((name): [string, number] => [name, addedBy([name, ...lazyPartsOf(name)])]);

  expect(sizes.length).toBeGreaterThan(5);
  expect(pages.filter((name) => lazilyImportedBy(name).includes(EDITOR)).length).toBeGreaterThan(5);
  expect(sizes.filter(([, size]) => size >= budgets.laterPage)).toEqual([]);
});

test('the editor of workflows adds less than 200 kB when it opens, and less than 265 with all its dialogs', () => {
  const { opened, whole } = budgets.workflowEditor;
  expect(addedBy([WORKFLOW, 'editor/canvas.tsx'])).toBeLessThan(opened);
  expect(addedBy([WORKFLOW, ...lazyPartsOf(WORKFLOW)])).toBeLessThan(whole);
});

test('the builder of pages adds less than 215 kB when it opens, and less than 300 with the page and all its dialogs', () => {
  const { opened, whole } = budgets.pageBuilder;
  expect(BUILDERS.filter((name) => addedBy([name]) >= opened)).toEqual([]);
  expect(BUILDERS.filter((name) => addedBy([name, ...lazyPartsOf(name)]) >= whole)).toEqual([]);
  expect(lazyPartsOf('pages/app-page-edit.tsx')).toContain('builder/grid/grid.tsx');
});

test('the values of a step, with their picker, add less than 25 kB to the editor of workflows', () => {
  const editor = ['pages/workflow.tsx', ...lazyPartsOf('pages/workflow.tsx')];

  expect(lazilyImportedBy('pages/workflow.tsx')).toContain(VALUES);
  expect(
    addedBy([...editor, EDITOR, VALUES, 'values/picker.tsx', 'values/in-code.ts']) - addedBy([...editor, EDITOR]),
  ).toBeLessThan(budgets.values);
});

test('the page for SQL is below 180 kB with the editor of code', () => {
  expect(addedBy(['pages/database.tsx', EDITOR, 'code/sql.ts'])).toBeLessThan(budgets.laterPage);
});

test('the editor of code, with any one language, is below 150 kB', () => {
  const languages = entriesIn('code/').filter((name) => name !== EDITOR);
  const sizes = languages.map((name): [string, number] => [name, addedBy([EDITOR, name])]);

  expect(sizes.length).toBe(3);
  expect(sizes.filter(([, size]) => size >= budgets.codeEditor)).toEqual([]);
});

test('the assistant adds less than 45 kB when it is opened, and nothing but its button before', () => {
  const before = importedBy(['index.html', 'pages/runs.tsx', 'pages/workflow.tsx', 'assistant/button.tsx']);

  expect([...before].filter((name) => name === 'assistant/panel.tsx')).toEqual([]);
  expect(addedBy(['assistant/panel.tsx'])).toBeLessThan(budgets.assistant);
});

test('no script makes code from text, which the policy of the console refuses', () => {
  const scripts = globSync('assets/*.js', { cwd: folder });
  // Packages that run anywhere find the global object so, where they know no other name of it.
  const code = /\beval\(|\bFunction\((?!.return this.\))/;

  expect(scripts.filter((path) => code.test(readFileSync(join(folder, path), 'utf8')))).toEqual([]);
});

test('every text is there compressed', () => {
  const texts = globSync('assets/*.{js,css}', { cwd: folder });

  expect(texts.length).toBeGreaterThan(10);
  for (const path of texts)
    for (const kind of ['gz', 'br'])
      expect(statSync(join(folder, `${path}.${kind}`)).size).toBeLessThan(statSync(join(folder, path)).size + 50);
});

const WORKFLOW = 'pages/workflow.tsx';
const BUILDERS = ['pages/app-page-edit.tsx', 'pages/dashboard-edit.tsx'];

/** A part of its own: it is loaded once for all pages, when a first field for code is shown, and a graph needs no such field. */
const EDITOR = 'code/view.tsx';
/** A part of its own, too: it is loaded when a first step is opened, and a graph needs no step to be open. */
const VALUES = 'editor/step-values.tsx';

function entriesIn(folder: string): string[] {
  return Object.keys(chunks).filter((name) => name.startsWith(folder) && chunks[name]?.file !== undefined);
}

/** Bytes loaded for these modules besides the list of runs' frame. */
function addedBy(names: readonly string[]): number {
  return sizeOf(filesOf(names).difference(filesOf(['index.html'])));
}

function lazyPartsOf(page: string): string[] {
  return lazilyImportedBy(page).filter((name) => name !== EDITOR && name !== VALUES);
}

/** Modules that the page imports lazily, or a module that it shares with others. */
function lazilyImportedBy(page: string): string[] {
  const own = importedBy([page]).difference(importedBy(['index.html']));
  return [...own].flatMap((name) => chunks[name]?.dynamicImports ?? []);
}

/** The files that a browser loads for these modules, with all that those import. */
function filesOf(names: readonly string[]): Set<string> {
  const all = [...importedBy(names)];
  return new Set(all.flatMap((name) => [chunks[name]?.file ?? name, ...(chunks[name]?.css ?? [])]));
}

function importedBy(names: readonly string[]): Set<string> {
  const seen = new Set<string>();
  const follow = (name: string) => {
    if (seen.has(name)) return;
    seen.add(name);
    chunks[name]?.imports?.forEach(follow);
  };
  names.forEach(follow);
  return seen;
}

function sizeOf(files: ReadonlySet<string>): number {
  return [...files].reduce((sum, file) => sum + statSync(join(folder, `${file}.gz`)).size, 0);
}
