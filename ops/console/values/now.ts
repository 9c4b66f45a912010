import {
  asText,
  compileTemplate,
  type Expression,
  evaluateIn,
  type Roots,
} from '#shared/workflow/templates/expressions.ts';
import { faultOf, resolvePath } from './check.ts';
import type { Value, Values } from './value.ts';

/** The present state of a field with templates. */
export type Now =
  | { state: 'value'; value: unknown }
  | { state: 'fault'; message: string }
  /** It is known when the steps before have run. */
  | { state: 'later'; of: string[] }
  /** The values are read first. */
  | { state: 'read'; steps: string[] };

/** The value of a field, as the engine fills it; undefined if no template is in it. */
export function valueNow(value: unknown, values: Values): Now | undefined {
  const expressions = [...expressionsOf(value)];
  if (expressions.length === 0) return undefined;
  for (const expression of expressions) {
    const message = faultOf(expression, values);
    if (message !== undefined) return { state: 'fault', message };
  }
  const owners = expressions.map((expression) => [expression, ownerOf(expression, values)] as const);
  const omitted = owners.flatMap(([, owner]) => owner?.omittedAt ?? []);
  if (omitted.length > 0) return { state: 'read', steps: [...new Set(omitted)] };
  const unknown = owners.filter(([, owner]) => owner?.sample === undefined);
  if (unknown.length > 0) return { state: 'later', of: [...new Set(unknown.map(([{ source }]) => source))] };
  return { state: 'value', value: filled(value, rootsOf(values)) };
}

function ownerOf({ root, keys }: Expression, values: Values): Value | undefined {
  const found = resolvePath([root ?? '', ...keys], values);
  return found?.missing === undefined ? found?.value : undefined;
}

/** The values that expressions begin at, as far as they are known. */
export function rootsOf({ input, groups }: Values): Roots {
  const roots: Record<string, Record<string, unknown>> = {};
  for (const { path, sample } of [input, ...groups.flatMap(({ values }) => values)]) {
    const [root = '', key, ...deeper] = path;
    if (sample === undefined || deeper.length > 0) continue;
    const own = roots[root] ?? {};
    // The first of two values with one name counts.
    roots[root] = key === undefined ? { ...(sample as object), ...own } : { [key]: sample, ...own };
  }
  // The samples came as JSON.
  return roots as unknown as Roots;
}

/** More parts of a value are not looked at while a person types. */
const MAX_PARTS = 5_000;

function expressionsOf(value: unknown): Expression[] {
  const found: Expression[] = [];
  let left = MAX_PARTS;
  const visit = (part: unknown) => {
    left -= 1;
    if (left < 0) return;
    if (typeof part === 'string')
      for (const one of compileTemplate(part)?.parts ?? []) typeof one === 'object' && found.push(one);
    else if (typeof part === 'object' && part !== null) for (const inner of Object.values(part)) visit(inner);
  };
  visit(value);
  return found;
}

function filled(value: unknown, roots: Roots): unknown {
  if (typeof value === 'string') {
    const template = compileTemplate(value);
    if (!template) return value;
    if (template.whole) return evaluateIn(template.whole, roots) ?? null;
    return template.parts.map((part) => (typeof part === 'string' ? part : asText(evaluateIn(part, roots)))).join('');
  }
  if (Array.isArray(value)) return value.map((item) => filled(item, roots));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, filled(part, roots)]));
}
