import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { routes } from '#api/app/routes.ts';
import { validate } from '#api/http/request/validate.ts';
import { readOptions } from '#api/resources/datasources/options.ts';
import { runSync } from '#shared/concurrency/cooperative.ts';
import { AppError } from '#shared/core/errors.ts';
import { newID } from '#shared/core/ids.ts';
import type { JsonObject } from '#shared/core/json.ts';
import type { Issue } from '#shared/core/schema/issues.ts';
import { type choicesFor, defOf, type Schema, wrappedIn } from '#shared/core/schema/walk.ts';
import { checkQuery } from '#shared/datasources/queries/bind.ts';
import { datasources } from '#shared/datasources/types/index.ts';
import { readConfig } from '#shared/process/config.ts';
import { Environment } from '#shared/process/environment.ts';
import { checkNode } from '#shared/workflow/graph/check-node.ts';
import { nodes } from '#shared/workflow/nodes/index.ts';
import { nameOf } from '../support/route-calls.ts';
import { sample } from '../support/sample.ts';

/** Values of each type in several sizes: every field refuses some of them. */
const wrongValues: readonly unknown[] = [
  ...[undefined, null, true, false, 0, -1, 1.5, 1e300, 2 ** 60],
  ...['', 'x', ' ', 'x y', '?', 'http://', 'x'.repeat(300), 'x'.repeat(30_000)],
  ...[[], [[]], [null], ['x', 'x'], Array(600).fill('x'), {}, { x: 'x' }, { '': null }],
];

/** Words of zod's own messages, and values that the client has not sent. */
const NOT_OURS =
  /Invalid|NaN|Too (?:small|big)|Unrecognized|undefined|\0|\[object|expected (?:string|number|int|boolean|array|object|record|tuple)\b/;

/** A field of a schema, and a value that has nothing but one value in this field. */
interface Spot {
  path: (string | number)[];
  schema: Schema;
  valueWith(wrong: unknown): unknown;
}

function spotsIn(schema: Schema, levels = 7): Spot[] {
  if (levels === 0) return [];
  const def = defOf(schema);
  const inside = partsOf(schema).flatMap(({ key, schema, around }) => [
    { path: [key], schema, valueWith: around },
    ...spotsIn(schema, levels - 1).map((spot) => ({
      ...spot,
      path: [key, ...spot.path],
      valueWith: (wrong: unknown) => around(spot.valueWith(wrong)),
    })),
  ]);
  if (def.type === 'union') return def.options.flatMap((option) => choice(def, option, levels));
  if (def.type === 'intersection') return [def.left, def.right].flatMap((side) => spotsIn(side, levels));
  if (def.type === 'pipe') return spotsIn(def.in, levels);
  const inner = wrappedIn(schema);
  return inner ? spotsIn(inner, levels - 1) : inside;
}

/** With the name of the choice beside the field, so that zod chooses it. */
function choice(union: Parameters<typeof choicesFor>[0], option: Schema, levels: number): Spot[] {
  const { discriminator } = union as { discriminator?: string };
  const [name] = (discriminator && option._zod.propValues?.[discriminator]) || [];
  return spotsIn(option, levels).map((spot) => ({
    ...spot,
    valueWith: (wrong) => {
      const value = spot.valueWith(wrong);
      return discriminator && !Object.hasOwn(value as object, discriminator)
        ? { [discriminator]: name, ...(value as object) }
        : value;
    },
  }));
}

interface Inside {
  key: string | number;
  schema: Schema;
  around(wrong: unknown): unknown;
}

function partsOf(schema: Schema): Inside[] {
  const def = defOf(schema);
  if (def.type === 'object')
    return Object.entries(def.shape).map(([key, field]) => ({
      key,
      schema: field,
      around: (wrong) => ({ [key]: wrong }),
    }));
  if (def.type === 'record') {
    const key = ['x', newID()].find((name) => z.safeParse(def.keyType, name).success) ?? '';
    return [{ key, schema: def.valueType, around: (wrong) => ({ [key]: wrong }) }];
  }
  if (def.type === 'array') return [{ key: 0, schema: def.element, around: (wrong) => [wrong] }];
  return [];
}

interface Case {
  name: string;
  schema: Schema;
  issuesOf(value: unknown): readonly Issue[];
}

function issuesThrownBy(work: () => unknown): readonly Issue[] {
  try {
    work();
    return [];
  } catch (error) {
    if (!(error instanceof AppError && error.code === 'VALIDATION_ERROR')) throw error;
    const { issues } = (error.details ?? { issues: [{ path: [], message: error.message }] }) as { issues: Issue[] };
    // The text of the whole error is made of the same issues.
    return [...issues, { path: [], message: error.message }];
  }
}

const cases: Case[] = [
  ...routes.flatMap((route) =>
    (['params', 'query', 'body'] as const).flatMap((part) => {
      const schema = route[part];
      const handling = { isStrict: true, unknown: { fields: [], count: 0 } };
      const issuesOf = (value: unknown) => issuesThrownBy(() => validate([{ part, schema, value }], handling));
      return schema ? [{ name: `${part} of ${nameOf(route)}`, schema, issuesOf }] : [];
    }),
  ),
  ...nodes.map(({ kind, config }) => ({
    name: `a node ${kind}`,
    schema: config,
    issuesOf: (data: unknown) => runSync(checkNode({ id: 'a', type: kind, data: data as JsonObject })).issues,
  })),
  ...datasources.flatMap((definition) => [
    {
      name: `options of ${definition.type}`,
      schema: definition.options,
      issuesOf: (options: unknown) => issuesThrownBy(() => readOptions(definition.type, options as JsonObject)),
    },
    {
      name: `a query of ${definition.type}`,
      schema: definition.query,
      issuesOf: (options: unknown) =>
        runSync(checkQuery(definition as Parameters<typeof checkQuery>[0], options as JsonObject)),
    },
  ]),
];

const drawn = sample(cases, { name: 'message', oneOf: 4 });

test.each(drawn.map((one) => [one.name, one] as const))('%s', (_name, { schema, issuesOf }) => {
  const found = spotsIn(schema).map((spot) => ({
    ...spot,
    issues: wrongValues.flatMap((wrong) => [...issuesOf(spot.valueWith(wrong))]),
  }));
  const messages = new Set(found.flatMap(({ issues }) => issues.map(({ message }) => message)));
  expect([...messages].filter((message) => NOT_OURS.test(message))).toEqual([]);

  const unchecked = found.filter(
    ({ schema, path, issues }) => !isFree(schema) && !isColumn(path) && !issues.some(isWithin(path)),
  );
  expect(unchecked.map(({ path }) => path.join('.'))).toEqual([]);
  const silent = found.flatMap(({ path, issues }) => issues.filter(saysNoValue(path)));
  expect(silent).toEqual([]);
});

/** An element without an object `data` is a row, of which these may be columns. */
function isColumn([body, index, name]: readonly (string | number)[]): boolean {
  return (
    body === 'databaseTableRowData' && index === 0 && ['data', 'where', 'query', 'all', 'single'].includes(String(name))
  );
}

function isWithin(path: readonly (string | number)[]) {
  return (issue: Issue) => path.every((key) => issue.path.includes(key));
}

/** Deeper paths lead into what a transform has made of the value. */
function saysNoValue(path: readonly (string | number)[]) {
  const saysIt = /, received |^expected no field called /;
  return ({ path: at, message }: Issue) =>
    at.length > 0 && path.at(-1) === at.at(-1) && message.startsWith('expected ') && !saysIt.test(message);
}

/** Takes every value. */
function isFree(schema: Schema): boolean {
  return wrongValues.every(
    (wrong) =>
      wrong === undefined ||
      (schema as never as { safeParse(value: unknown): { success: boolean } }).safeParse(wrong).success,
  );
}

test.each(Object.keys(Environment.shape))('the setting %s', (name) => {
  const required = { DATABASE_URL: 'postgres://db/gantry' };
  for (const wrong of ['x', '-1', '1.5', '1e300', '?', 'x'.repeat(300)]) {
    try {
      readConfig({ ...required, [name]: wrong });
    } catch (error) {
      expect(String(error)).not.toMatch(/Error: .*(?:Invalid|NaN|Too (?:small|big)|\0)/);
    }
  }
});

test('only one module reads the issues of zod', () => {
  const root = join(import.meta.dirname, '../..');
  const files = globSync('{api,shared,workers,ops}/**/*.ts', { cwd: root });
  const readers = files.filter((path) =>
    /\.error\.issues|\b(?:ZodError|ZodIssue|(?:prettify|flatten|treeify|format)Error)\b/.test(
      readFileSync(join(root, path), 'utf8'),
    ),
  );
  expect(readers).toEqual(['shared/core/schema/parse.ts']);
});
